CREATE TABLE soloist_attempts (
    entry_id BIGINT NOT NULL,
    claim BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    node_id BIGINT,
    started_at BIGINT,
    finished_at BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    output TEXT,
    PRIMARY KEY (entry_id, claim)
);
