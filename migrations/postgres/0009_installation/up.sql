-- Makes idempotency keys unique over installations.
CREATE TABLE soloist_installation AS SELECT substr(md5(random()::text || clock_timestamp()::text), 1, 16) AS id;
