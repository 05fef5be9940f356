-- `look_at` is when the next firing pass must look at the row: nothing while nobody declares it or nothing is to come.
CREATE TABLE soloist_schedules (
    name VARCHAR(100) NOT NULL PRIMARY KEY,
    task VARCHAR(100) NOT NULL,
    definition TEXT NOT NULL,
    origin VARCHAR(10) NOT NULL,
    declared INTEGER NOT NULL DEFAULT 1,
    sweeps INTEGER NOT NULL DEFAULT 0,
    anchor BIGINT NOT NULL,
    look_at BIGINT,
    next_fire_at BIGINT,
    decided_until BIGINT,
    queued_for BIGINT,
    last_fired_at BIGINT,
    last_entry_id BIGINT,
    last_sweep_id BIGINT,
    run_from BIGINT,
    paused_by VARCHAR(100),
    paused_since BIGINT,
    paused_reason TEXT,
    changed_at BIGINT NOT NULL
);
CREATE INDEX soloist_schedules_look ON soloist_schedules (look_at) WHERE look_at IS NOT NULL;
