DELETE FROM soloist_leases WHERE CHAR_LENGTH(name) > 100;
SET @soloist = (
    SELECT IF(count(*) = 1, ', DROP COLUMN holder', '')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_leases' AND column_name = 'holder'
);
SET @soloist = CONCAT('ALTER TABLE soloist_leases MODIFY name VARCHAR(100) NOT NULL', @soloist);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
