-- Answers to requests that carried an idempotency key, kept for a day.
CREATE TABLE soloist_requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token VARCHAR(100) NOT NULL,
    route VARCHAR(255) NOT NULL,
    request_key VARCHAR(255) NOT NULL,
    body_digest VARCHAR(64) NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    answer TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (token, route, request_key)
);
CREATE INDEX soloist_requests_created ON soloist_requests (created_at);
