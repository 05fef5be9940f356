DROP TABLE IF EXISTS soloist_minutes;
