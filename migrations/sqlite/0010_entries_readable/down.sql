DROP VIEW soloist_entries_readable;
