CREATE TABLE IF NOT EXISTS soloist_sweeps (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    task VARCHAR(100) NOT NULL,
    passed INTEGER NOT NULL DEFAULT 0,
    position MEDIUMTEXT,
    collected BIGINT NOT NULL DEFAULT 0,
    error MEDIUMTEXT,
    failed_since BIGINT,
    node_id BIGINT,
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    INDEX soloist_sweeps_open (task, finished_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
