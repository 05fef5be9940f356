DROP TABLE IF EXISTS soloist_tasks;
