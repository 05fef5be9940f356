DROP TABLE IF EXISTS soloist_entries;
