DROP TABLE soloist_declarations;
