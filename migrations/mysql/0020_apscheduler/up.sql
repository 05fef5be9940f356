-- At most one row: there while all schedules are held, as by the scheduler's pause and shutdown of Flask-APScheduler's API.
CREATE TABLE IF NOT EXISTS soloist_hold (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    state VARCHAR(10) NOT NULL CHECK (state IN ('paused', 'stopped')),
    held_by VARCHAR(100) NOT NULL,
    held_since BIGINT NOT NULL,
    held_reason MEDIUMTEXT
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- What only a job of APScheduler has, of a schedule that was made as one. MySQL knows no IF NOT EXISTS here, and this may
-- run twice.
SET @soloist = (
    SELECT IF(count(*) = 0, 'ALTER TABLE soloist_schedules ADD COLUMN apscheduler MEDIUMTEXT', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_schedules' AND column_name = 'apscheduler'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
