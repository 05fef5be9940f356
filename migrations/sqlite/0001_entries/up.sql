-- AUTOINCREMENT: an id is never handed out twice. No syntax newer than SQLite 3.35: the application's own
-- library reads this schema.
CREATE TABLE soloist_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL CHECK (length(task) BETWEEN 1 AND 100),
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
    priority INTEGER NOT NULL DEFAULT 0 CHECK (typeof(priority) = 'integer' AND priority BETWEEN -9 AND 9),
    run_at BIGINT NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000) CHECK (typeof(run_at) = 'integer'),
    payload TEXT NOT NULL DEFAULT 'null' CHECK (json_valid(payload)),
    dedupe_key TEXT CHECK (length(dedupe_key) <= 255),
    key_held INTEGER NOT NULL DEFAULT 1,
    attempt INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER,
    claim BIGINT NOT NULL DEFAULT 0,
    node_id BIGINT,
    lease_until BIGINT,
    source INTEGER NOT NULL DEFAULT 0,
    source_version TEXT,
    sweep_id BIGINT,
    schedule TEXT,
    scheduled_for BIGINT,
    created_at BIGINT NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
    started_at BIGINT,
    finished_at BIGINT,
    error TEXT,
    output TEXT
);
CREATE INDEX soloist_entries_claim ON soloist_entries (task, priority, run_at, id) WHERE state = 'pending';
CREATE INDEX soloist_entries_running ON soloist_entries (node_id, task)
    WHERE node_id IS NOT NULL AND finished_at IS NULL;
CREATE INDEX soloist_entries_lease ON soloist_entries (lease_until) WHERE lease_until IS NOT NULL;
CREATE UNIQUE INDEX soloist_entries_key ON soloist_entries (task, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND key_held = 1;
CREATE INDEX soloist_entries_finished ON soloist_entries (task, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX soloist_entries_ended_badly ON soloist_entries (state, id) WHERE state IN ('failed', 'cancelled');
