DROP TABLE soloist_leases;
