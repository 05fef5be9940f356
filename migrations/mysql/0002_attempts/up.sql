CREATE TABLE IF NOT EXISTS soloist_attempts (
    entry_id BIGINT NOT NULL,
    claim BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    node_id BIGINT,
    started_at BIGINT,
    finished_at BIGINT NOT NULL,
    outcome VARCHAR(20) NOT NULL,
    error MEDIUMTEXT,
    output MEDIUMTEXT,
    PRIMARY KEY (entry_id, claim)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
