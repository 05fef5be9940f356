ALTER TABLE soloist_leases DROP COLUMN holder;
