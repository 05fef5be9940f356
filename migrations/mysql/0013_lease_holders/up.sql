-- A name with its kind before it is longer than a name. MySQL knows no IF NOT EXISTS here, and this may run twice.
SET @soloist = (
    SELECT IF(count(*) = 0, ', ADD COLUMN holder VARCHAR(255)', '')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'soloist_leases' AND column_name = 'holder'
);
SET @soloist = CONCAT('ALTER TABLE soloist_leases MODIFY name VARCHAR(120) NOT NULL', @soloist);
PREPARE soloist FROM @soloist;
EXECUTE soloist;
DEALLOCATE PREPARE soloist;
