SET @soloist = (
    SELECT IF(count(*) = 1,
        'ALTER TABLE soloist_entries DROP INDEX soloist_entries_serial, DROP COLUMN serial_key',
        'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND column_name = 'serial_key'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
SET @soloist = (
    SELECT IF(count(*) = 1,
        'ALTER TABLE soloist_tasks DROP COLUMN max_running, DROP COLUMN rate_starts, DROP COLUMN rate_span,
            DROP COLUMN next_start_at, DROP COLUMN serial, DROP COLUMN serial_after, DROP COLUMN keys_held',
        'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_tasks' AND column_name = 'keys_held'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
