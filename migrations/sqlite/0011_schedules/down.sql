DROP TABLE soloist_schedules;
