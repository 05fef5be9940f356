DROP TABLE IF EXISTS soloist_nodes;
