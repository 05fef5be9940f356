DROP TABLE IF EXISTS soloist_sweeps;
