DROP TABLE IF EXISTS soloist_leases;
