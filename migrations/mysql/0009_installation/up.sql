-- Makes idempotency keys unique over installations. Two statements that may both be run again.
CREATE TABLE IF NOT EXISTS soloist_installation (id VARCHAR(36) NOT NULL PRIMARY KEY)
    ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO soloist_installation (id) SELECT substr(md5(CONCAT(UUID(), RAND())), 1, 16) FROM DUAL
    WHERE NOT EXISTS (SELECT 1 FROM soloist_installation);
