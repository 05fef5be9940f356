SET @soloist = (
    SELECT IF(count(*) = 1, 'ALTER TABLE soloist_entries DROP COLUMN traceparent', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND column_name = 'traceparent'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
