CREATE TABLE soloist_leases (
    name TEXT NOT NULL PRIMARY KEY,
    node_id BIGINT,
    term BIGINT NOT NULL DEFAULT 0,
    since BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);
