-- Answers to requests that carried an idempotency key, kept for a day. The three that name a request compare by bytes.
CREATE TABLE IF NOT EXISTS soloist_requests (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    token VARBINARY(400) NOT NULL,
    route VARBINARY(255) NOT NULL,
    request_key VARBINARY(255) NOT NULL,
    body_digest VARCHAR(64) NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    answer MEDIUMTEXT,
    created_at BIGINT NOT NULL,
    UNIQUE INDEX soloist_requests_key (token, route, request_key),
    INDEX soloist_requests_created (created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
