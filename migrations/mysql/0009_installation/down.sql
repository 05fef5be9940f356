DROP TABLE IF EXISTS soloist_installation;
