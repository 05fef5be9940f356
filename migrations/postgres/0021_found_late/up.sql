-- When the next due time was found late, if it waits since then for the work of the one before it.
ALTER TABLE soloist_schedules ADD COLUMN found_late BIGINT;
