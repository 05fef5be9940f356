-- A run of due times that were not fired is one row: from `scheduled_for` to `run_until`, `run_count` of them.
CREATE TABLE IF NOT EXISTS soloist_firings (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    schedule VARCHAR(100) NOT NULL,
    scheduled_for BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    outcome VARCHAR(10) NOT NULL CHECK (outcome IN ('fired', 'skipped', 'missed')),
    reason MEDIUMTEXT,
    run_until BIGINT,
    run_count BIGINT,
    node VARCHAR(255),
    entry_id BIGINT,
    sweep_id BIGINT,
    result VARCHAR(10),
    ended_at BIGINT,
    attempts INTEGER,
    UNIQUE INDEX soloist_firings_due (schedule, scheduled_for),
    INDEX soloist_firings_decided (decided_at),
    INDEX soloist_firings_entry (entry_id),
    INDEX soloist_firings_sweep (sweep_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
