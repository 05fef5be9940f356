CREATE TABLE soloist_minutes (
    starts_at BIGINT NOT NULL,
    span INTEGER NOT NULL,
    task TEXT NOT NULL,
    node_id BIGINT NOT NULL,
    started BIGINT NOT NULL,
    completed BIGINT NOT NULL,
    retried BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    waits VARCHAR(500) NOT NULL,
    runs VARCHAR(500) NOT NULL,
    PRIMARY KEY (span, starts_at, task, node_id)
);
