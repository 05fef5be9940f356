-- Who changed what over the API and the command line; kept for 90 days.
CREATE TABLE IF NOT EXISTS soloist_audit (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at BIGINT NOT NULL,
    who VARCHAR(100) NOT NULL,
    role VARCHAR(10),
    via VARCHAR(3) NOT NULL,
    action VARCHAR(20) NOT NULL,
    subject VARCHAR(120) NOT NULL,
    detail MEDIUMTEXT NOT NULL,
    INDEX soloist_audit_at (at),
    INDEX soloist_audit_who (who, id),
    INDEX soloist_audit_action (action, id),
    INDEX soloist_audit_subject (subject, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- For people who look for a key of whatever task, or for what a schedule made, in the order of ids, as lists are. MySQL knows no IF NOT
-- EXISTS here, and this may run twice.
SET @soloist = (
    SELECT IF(count(*) = 0,
        'ALTER TABLE soloist_entries ADD INDEX soloist_entries_by_key (dedupe_key, id), ADD INDEX soloist_entries_by_schedule (schedule, id)',
        'DO 0')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'soloist_entries' AND index_name = 'soloist_entries_by_key'
);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
