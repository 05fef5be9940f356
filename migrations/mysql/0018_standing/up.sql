-- How each node's duties stand, as it last said; ages in the text count from `told_at`.
CREATE TABLE IF NOT EXISTS soloist_duties (
    node_id BIGINT NOT NULL PRIMARY KEY,
    told_at BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- What waits, where that is too much to be counted at each look; the row without a name says when to count again.
CREATE TABLE IF NOT EXISTS soloist_counts (
    task VARCHAR(100) NOT NULL PRIMARY KEY,
    pending BIGINT NOT NULL DEFAULT 0,
    due BIGINT NOT NULL DEFAULT 0,
    counted_at BIGINT NOT NULL DEFAULT 0,
    earlier_due BIGINT,
    earlier_at BIGINT
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO soloist_counts (task) VALUES ('');
-- MySQL knows no IF NOT EXISTS here, and this may run twice. The failed of a task are found by the claim index.
SET @soloist = (
    SELECT IF(count(*) = 0, 'CREATE INDEX soloist_attempts_ended ON soloist_attempts (outcome, finished_at)', 'DO 0')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'soloist_attempts' AND index_name = 'soloist_attempts_ended'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
