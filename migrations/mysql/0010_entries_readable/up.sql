-- The same rows with dates that people read, in UTC.
CREATE OR REPLACE VIEW soloist_entries_readable AS SELECT
    id, task, state, priority,
    TIMESTAMPADD(MICROSECOND, run_at, '1970-01-01') AS run_at,
    payload, dedupe_key, attempt, max_attempts, schedule,
    TIMESTAMPADD(MICROSECOND, scheduled_for, '1970-01-01') AS scheduled_for,
    TIMESTAMPADD(MICROSECOND, created_at, '1970-01-01') AS created_at,
    TIMESTAMPADD(MICROSECOND, started_at, '1970-01-01') AS started_at,
    TIMESTAMPADD(MICROSECOND, finished_at, '1970-01-01') AS finished_at,
    node_id, error, output
FROM soloist_entries;
