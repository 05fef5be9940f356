DROP TABLE IF EXISTS soloist_firings;
