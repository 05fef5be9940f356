DROP TABLE IF EXISTS soloist_declarations;
