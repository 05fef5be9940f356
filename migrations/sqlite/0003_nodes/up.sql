CREATE TABLE soloist_nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(255) NOT NULL,
    roles VARCHAR(100) NOT NULL,
    version VARCHAR(50) NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    draining INTEGER NOT NULL DEFAULT 0,
    lost_at BIGINT,
    stopped_at BIGINT
);
