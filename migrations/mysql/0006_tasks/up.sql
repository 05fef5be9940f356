CREATE TABLE IF NOT EXISTS soloist_tasks (
    name VARCHAR(100) NOT NULL PRIMARY KEY,
    paused_by VARCHAR(100),
    paused_since BIGINT,
    paused_reason MEDIUMTEXT,
    held_since BIGINT,
    held_reason MEDIUMTEXT,
    held_count INTEGER NOT NULL DEFAULT 0,
    held_probing INTEGER NOT NULL DEFAULT 0,
    next_probe_at BIGINT,
    next_sweep_at BIGINT
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
