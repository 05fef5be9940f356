-- What limits the starts of a task over all nodes: the words of the node that declared it last. MySQL knows no
-- IF NOT EXISTS here, and this may run twice.
SET @soloist = (
    SELECT IF(count(*) = 0,
        'ALTER TABLE soloist_tasks
            ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0,
            ADD COLUMN rate_starts BIGINT,
            ADD COLUMN rate_span BIGINT,
            ADD COLUMN next_start_at BIGINT,
            ADD COLUMN serial INTEGER NOT NULL DEFAULT 0,
            ADD COLUMN serial_after VARCHAR(255),
            ADD COLUMN keys_held INTEGER NOT NULL DEFAULT 1',
        'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_tasks' AND column_name = 'keys_held'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
-- Keys that only say the order, in bytes; NULL for all others, since there are no partial indexes here. What holds its
-- key is found by the index that keeps it unique.
SET @soloist = (
    SELECT IF(count(*) = 0,
        'ALTER TABLE soloist_entries
            ADD COLUMN serial_key VARBINARY(1020) GENERATED ALWAYS AS
                (CASE WHEN key_held = 0 AND state IN (''pending'', ''running'') THEN CAST(dedupe_key AS BINARY) END) STORED,
            ADD INDEX soloist_entries_serial (task, serial_key, state, id)',
        'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND column_name = 'serial_key'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
