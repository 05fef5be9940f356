DROP TABLE soloist_minutes;
