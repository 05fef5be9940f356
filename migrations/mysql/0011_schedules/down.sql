DROP TABLE IF EXISTS soloist_schedules;
