DROP TABLE soloist_attempts;
