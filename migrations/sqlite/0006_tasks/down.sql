DROP TABLE soloist_tasks;
