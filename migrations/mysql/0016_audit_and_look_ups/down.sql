SET @soloist = (
    SELECT IF(count(*) > 0,
        'ALTER TABLE soloist_entries DROP INDEX soloist_entries_by_key, DROP INDEX soloist_entries_by_schedule',
        'DO 0')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND index_name = 'soloist_entries_by_key'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
DROP TABLE IF EXISTS soloist_audit;
