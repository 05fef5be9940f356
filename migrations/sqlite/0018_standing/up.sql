-- How each node's duties stand, as it last said; ages in the text count from `told_at`.
CREATE TABLE soloist_duties (
    node_id BIGINT NOT NULL PRIMARY KEY,
    told_at BIGINT NOT NULL,
    body TEXT NOT NULL
);
-- What waits, where that is too much to be counted at each look; the row without a name says when to count again.
CREATE TABLE soloist_counts (
    task TEXT NOT NULL PRIMARY KEY,
    pending BIGINT NOT NULL DEFAULT 0,
    due BIGINT NOT NULL DEFAULT 0,
    counted_at BIGINT NOT NULL DEFAULT 0,
    earlier_due BIGINT,
    earlier_at BIGINT
);
INSERT INTO soloist_counts (task) VALUES ('');
CREATE INDEX soloist_entries_failed ON soloist_entries (task, finished_at) WHERE state = 'failed';
CREATE INDEX soloist_attempts_ended ON soloist_attempts (outcome, finished_at);
