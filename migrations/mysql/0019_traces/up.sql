-- The trace that the entry belongs to, as W3C Trace Context writes it; what is not quite one counts as none. MySQL knows no
-- IF NOT EXISTS here, and this may run twice.
SET @soloist = (
    SELECT IF(count(*) = 0, 'ALTER TABLE soloist_entries ADD COLUMN traceparent VARCHAR(255)', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND column_name = 'traceparent'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
