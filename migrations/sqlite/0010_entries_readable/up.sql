-- The same rows with dates that people read, in UTC.
CREATE VIEW soloist_entries_readable AS SELECT
    id, task, state, priority,
    strftime('%Y-%m-%d %H:%M:%f', run_at / 1000000.0, 'unixepoch') AS run_at,
    payload, dedupe_key, attempt, max_attempts, schedule,
    strftime('%Y-%m-%d %H:%M:%f', scheduled_for / 1000000.0, 'unixepoch') AS scheduled_for,
    strftime('%Y-%m-%d %H:%M:%f', created_at / 1000000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%d %H:%M:%f', started_at / 1000000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%d %H:%M:%f', finished_at / 1000000.0, 'unixepoch') AS finished_at,
    node_id, error, output
FROM soloist_entries;
