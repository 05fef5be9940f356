SET @soloist = (
    SELECT IF(count(*) = 1, 'ALTER TABLE soloist_schedules DROP COLUMN apscheduler', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_schedules' AND column_name = 'apscheduler'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
DROP TABLE IF EXISTS soloist_hold;
