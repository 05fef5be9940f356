-- The same rows with dates that people read, in UTC (shown in the zone of the session).
CREATE VIEW soloist_entries_readable AS SELECT
    id, task, state, priority,
    to_timestamp(run_at / 1000000.0) AS run_at,
    payload, dedupe_key, attempt, max_attempts, schedule,
    to_timestamp(scheduled_for / 1000000.0) AS scheduled_for,
    to_timestamp(created_at / 1000000.0) AS created_at,
    to_timestamp(started_at / 1000000.0) AS started_at,
    to_timestamp(finished_at / 1000000.0) AS finished_at,
    node_id, error, output
FROM soloist_entries;
