ALTER TABLE soloist_leases ADD COLUMN holder TEXT;
