CREATE TABLE soloist_declarations (
    node_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    declared_at BIGINT NOT NULL,
    PRIMARY KEY (node_id, kind, name)
);
