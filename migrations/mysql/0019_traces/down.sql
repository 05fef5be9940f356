ALTER TABLE soloist_entries DROP COLUMN traceparent;
