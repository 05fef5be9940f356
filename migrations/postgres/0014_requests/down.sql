DROP TABLE soloist_requests;
