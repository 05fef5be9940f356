DROP TABLE soloist_installation;
