-- Makes idempotency keys unique over installations.
CREATE TABLE soloist_installation AS SELECT lower(hex(randomblob(8))) AS id;
