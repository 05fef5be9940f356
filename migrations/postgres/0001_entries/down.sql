DROP TABLE soloist_entries;
DROP FUNCTION soloist_wake();
