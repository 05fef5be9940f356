-- Who changed what over the API and the command line; kept for 90 days.
CREATE TABLE soloist_audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at BIGINT NOT NULL,
    who VARCHAR(100) NOT NULL,
    role VARCHAR(10),
    via VARCHAR(3) NOT NULL,
    action VARCHAR(20) NOT NULL,
    subject VARCHAR(120) NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX soloist_audit_at ON soloist_audit (at);
CREATE INDEX soloist_audit_who ON soloist_audit (who, id);
CREATE INDEX soloist_audit_action ON soloist_audit (action, id);
CREATE INDEX soloist_audit_subject ON soloist_audit (subject, id);
-- For people who look for a key of whatever task. Those that hold theirs are found by the unique index, so that an entry
-- with a key costs one more row of an index in its life, not three.
DROP INDEX soloist_entries_key;
CREATE UNIQUE INDEX soloist_entries_key ON soloist_entries (dedupe_key, task)
    WHERE dedupe_key IS NOT NULL AND key_held = 1;
CREATE INDEX soloist_entries_by_key ON soloist_entries (dedupe_key, id) WHERE dedupe_key IS NOT NULL AND key_held = 0;
-- For those who look for what a schedule made, in the order of ids, as lists are.
CREATE INDEX soloist_entries_by_schedule ON soloist_entries (schedule, id) WHERE schedule IS NOT NULL;
