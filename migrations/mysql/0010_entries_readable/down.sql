DROP VIEW IF EXISTS soloist_entries_readable;
