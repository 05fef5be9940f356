DROP TABLE IF EXISTS soloist_attempts;
