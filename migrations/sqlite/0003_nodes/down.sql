DROP TABLE soloist_nodes;
