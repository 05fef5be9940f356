DROP TABLE soloist_entries;
DROP FUNCTION soloist_wake();
DROP DOMAIN soloist_json;
