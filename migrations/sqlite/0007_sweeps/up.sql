CREATE TABLE soloist_sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL,
    passed INTEGER NOT NULL DEFAULT 0,
    position TEXT,
    collected BIGINT NOT NULL DEFAULT 0,
    error TEXT,
    failed_since BIGINT,
    node_id BIGINT,
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX soloist_sweeps_open ON soloist_sweeps (task, id) WHERE finished_at IS NULL;
