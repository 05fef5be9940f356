-- Makes idempotency keys unique over installations.
CREATE TABLE IF NOT EXISTS soloist_installation (id VARCHAR(36) NOT NULL PRIMARY KEY)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin AS SELECT substr(md5(CONCAT(UUID(), RAND())), 1, 16) AS id;
