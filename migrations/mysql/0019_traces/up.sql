-- The trace that the entry belongs to, as W3C Trace Context writes it; what is not quite one counts as none.
ALTER TABLE soloist_entries ADD COLUMN traceparent VARCHAR(255);
