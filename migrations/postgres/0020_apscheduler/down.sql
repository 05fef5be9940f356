ALTER TABLE soloist_schedules DROP COLUMN apscheduler;
DROP TABLE soloist_hold;
