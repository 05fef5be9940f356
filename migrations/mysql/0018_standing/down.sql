SET @soloist = (
    SELECT IF(count(*) = 0, 'DO 0', 'DROP INDEX soloist_attempts_ended ON soloist_attempts')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'soloist_attempts' AND index_name = 'soloist_attempts_ended'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
DROP TABLE IF EXISTS soloist_counts;
DROP TABLE IF EXISTS soloist_duties;
