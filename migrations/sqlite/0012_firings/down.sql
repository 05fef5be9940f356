DROP TABLE soloist_firings;
