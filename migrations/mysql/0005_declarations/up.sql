CREATE TABLE IF NOT EXISTS soloist_declarations (
    node_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    name VARCHAR(100) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    declared_at BIGINT NOT NULL,
    PRIMARY KEY (node_id, kind, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
