-- At most one row: there while all schedules are held, as by the scheduler's pause and shutdown of Flask-APScheduler's API.
CREATE TABLE soloist_hold (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    state VARCHAR(10) NOT NULL CHECK (state IN ('paused', 'stopped')),
    held_by VARCHAR(100) NOT NULL,
    held_since BIGINT NOT NULL,
    held_reason TEXT
);
-- What only a job of APScheduler has, of a schedule that was made as one.
ALTER TABLE soloist_schedules ADD COLUMN apscheduler TEXT;
