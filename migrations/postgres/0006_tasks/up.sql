CREATE TABLE soloist_tasks (
    name TEXT NOT NULL PRIMARY KEY,
    paused_by VARCHAR(100),
    paused_since BIGINT,
    paused_reason TEXT,
    held_since BIGINT,
    held_reason TEXT,
    held_count INTEGER NOT NULL DEFAULT 0,
    held_probing INTEGER NOT NULL DEFAULT 0,
    next_probe_at BIGINT,
    next_sweep_at BIGINT
);
