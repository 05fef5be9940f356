DROP INDEX soloist_entries_by_key;
DROP INDEX soloist_entries_key;
CREATE UNIQUE INDEX soloist_entries_key ON soloist_entries (task, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND key_held = 1;
DROP INDEX soloist_entries_by_schedule;
DROP TABLE soloist_audit;
