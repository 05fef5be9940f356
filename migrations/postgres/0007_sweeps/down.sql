DROP TABLE soloist_sweeps;
