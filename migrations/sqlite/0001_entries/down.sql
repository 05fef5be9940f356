DROP TABLE soloist_entries;
