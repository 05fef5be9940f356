-- A run of due times that were not fired is one row: from `scheduled_for` to `run_until`, `run_count` of them.
CREATE TABLE soloist_firings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    schedule VARCHAR(100) NOT NULL,
    scheduled_for BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    outcome VARCHAR(10) NOT NULL CHECK (outcome IN ('fired', 'skipped', 'missed')),
    reason TEXT,
    run_until BIGINT,
    run_count BIGINT,
    node VARCHAR(255),
    entry_id BIGINT,
    sweep_id BIGINT,
    result VARCHAR(10),
    ended_at BIGINT,
    attempts INTEGER,
    UNIQUE (schedule, scheduled_for)
);
CREATE INDEX soloist_firings_decided ON soloist_firings (decided_at);
CREATE INDEX soloist_firings_entry ON soloist_firings (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX soloist_firings_sweep ON soloist_firings (sweep_id) WHERE sweep_id IS NOT NULL;
