ALTER TABLE soloist_schedules DROP COLUMN found_late;
