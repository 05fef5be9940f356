DROP INDEX soloist_attempts_ended;
DROP INDEX soloist_entries_failed;
DROP TABLE soloist_counts;
DROP TABLE soloist_duties;
