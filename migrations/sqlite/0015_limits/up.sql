-- What limits the starts of a task over all nodes: the words of the node that declared it last.
ALTER TABLE soloist_tasks ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE soloist_tasks ADD COLUMN rate_starts BIGINT;
ALTER TABLE soloist_tasks ADD COLUMN rate_span BIGINT;
ALTER TABLE soloist_tasks ADD COLUMN next_start_at BIGINT;
ALTER TABLE soloist_tasks ADD COLUMN serial INTEGER NOT NULL DEFAULT 0;
ALTER TABLE soloist_tasks ADD COLUMN serial_after TEXT;
ALTER TABLE soloist_tasks ADD COLUMN keys_held INTEGER NOT NULL DEFAULT 1;
-- Keys that only say the order. What holds its key is found by the index that keeps it unique.
CREATE INDEX soloist_entries_serial ON soloist_entries (task, dedupe_key, state, id)
    WHERE dedupe_key IS NOT NULL AND key_held = 0 AND state IN ('pending', 'running');
