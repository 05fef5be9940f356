DROP TABLE IF EXISTS soloist_requests;
