DROP INDEX soloist_entries_serial;
ALTER TABLE soloist_tasks DROP COLUMN keys_held;
ALTER TABLE soloist_tasks DROP COLUMN serial_after;
ALTER TABLE soloist_tasks DROP COLUMN serial;
ALTER TABLE soloist_tasks DROP COLUMN next_start_at;
ALTER TABLE soloist_tasks DROP COLUMN rate_span;
ALTER TABLE soloist_tasks DROP COLUMN rate_starts;
ALTER TABLE soloist_tasks DROP COLUMN max_running;
