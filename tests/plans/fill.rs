//! The filled database: what a long-lived installation holds, in one statement a table.

use house::TestDatabase;

/// Rows of the table of entries.
const ENTRIES: u32 = 100_000;

/// 0 to 99,999 as `n`, on every backend.
pub fn numbers() -> String {
    let digits = (0..10).map(|d| format!("SELECT {d} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let places: Vec<_> = (0..5).map(|place| format!("({digits}) AS p{place}")).collect();
    format!(
        "(SELECT p0.d + 10 * p1.d + 100 * p2.d + 1000 * p3.d + 10000 * p4.d AS n FROM {}) AS n",
        places.join(" CROSS JOIN ")
    )
}

/// The user's own table.
pub fn tables(database: &TestDatabase) {
    database.sql(
        "CREATE TABLE images (id BIGINT NOT NULL PRIMARY KEY, path VARCHAR(100) NOT NULL, \
         processed BOOLEAN NOT NULL DEFAULT FALSE, tries BIGINT NOT NULL DEFAULT 0)",
    );
}

/// Most entries have ended; of the rest some are due, some not yet, some run: on a living node (2), on a dead one (1),
/// on one that is gone (3), with outside workers. Five tasks, all priorities.
pub fn rows(database: &TestDatabase) {
    const NOW: i64 = 1_900_000_000_000_000;
    let numbers = numbers();
    let node = "INSERT INTO soloist_nodes (name, roles, version, started_at, seen_at, lease_until) VALUES ";
    database.sql(&format!("{node} ('dead', 'worker', '1', 1, 1, 1), ('living', 'worker', '1', 1, 1, {NOW})"));
    // Tens: the task; ones: what has become of it.
    let task = "CASE (n / 10) % 5 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' WHEN 3 THEN 'd' ELSE 's' END";
    let task = if database.backend().is_mysql() { task.replace("n / 10", "n DIV 10") } else { task.to_owned() };
    let running = "n % 100 = 6";
    let rows = format!(
        "INSERT INTO soloist_entries (task, state, priority, run_at, payload, dedupe_key, key_held, attempt, claim, \
         node_id, lease_until, source, sweep_id, created_at, started_at, finished_at) SELECT {task}, \
         CASE WHEN n % 1000 = 0 THEN 'failed' WHEN n % 1000 = 1 THEN 'cancelled' WHEN n % 10 < 6 THEN 'completed' \
              WHEN {running} THEN 'running' ELSE 'pending' END, \
         n % 19 - 9, CASE WHEN n % 10 = 9 THEN {NOW} ELSE 1000000 + n END, '{{}}', \
         CASE WHEN n % 3 = 0 OR (n % 50 >= 40 AND n % 10 > 5) THEN CAST(n AS {text}) END, \
         CASE WHEN n % 10 < 6 THEN 0 ELSE 1 END, CASE WHEN n % 10 < 7 THEN 1 ELSE 0 END, \
         CASE WHEN n % 10 < 7 THEN 1 ELSE 0 END, \
         CASE WHEN n % 10 < 6 THEN 2 WHEN {running} THEN (n / 100) % 4 END, \
         CASE WHEN {running} AND (n / 100) % 4 = 0 THEN 1 END, \
         CASE WHEN n % 50 >= 40 THEN 1 ELSE 0 END, CASE WHEN n % 50 >= 40 THEN 1 END, 1, \
         CASE WHEN n % 10 < 7 THEN 1 END, CASE WHEN n % 10 < 6 THEN 1000000 + n END \
         FROM {numbers} WHERE n < {ENTRIES}",
        text = if database.backend().is_mysql() { "CHAR" } else { "VARCHAR(20)" }
    );
    let rows = if database.backend().is_mysql() { rows.replace("n / 100", "n DIV 100") } else { rows };
    database.sql(&rows);
    database.sql(&format!(
        "INSERT INTO soloist_attempts (entry_id, claim, attempt, node_id, started_at, finished_at, outcome) \
         SELECT n + 1, 0, 1, 2, 1, 2, 'failed' FROM {numbers} WHERE n % 4 = 0"
    ));
    database.sql(&format!(
        "INSERT INTO soloist_audit (at, who, role, via, action, subject, detail) SELECT n, CASE WHEN n % 10 = 0 THEN \
         'cron' ELSE 'ann' END, 'admin', 'api', CASE WHEN n % 2 = 0 THEN 'pause' ELSE 'resume' END, \
         CASE WHEN n % 100 = 0 THEN 'tasks/a' ELSE 'tasks/b' END, '{{}}' FROM {numbers} WHERE n < 30000"
    ));
    database.sql(&format!(
        "INSERT INTO soloist_sweeps (task, passed, created_at, finished_at) \
         SELECT 's', 1, 1, {NOW} FROM {numbers} WHERE n < 5000"
    ));
    database.sql(&format!(
        "INSERT INTO images (id, path, processed) SELECT n + 1, 'p', n % 10 < 6 FROM {numbers} WHERE n < {ENTRIES}"
    ));
}

/// Lets the server look at what the tables hold.
pub fn analyze(database: &TestDatabase) {
    let tables = ["entries", "attempts", "nodes", "sweeps", "tasks", "declarations", "minutes", "audit"];
    let tables = tables.map(|table| format!("soloist_{table}")).join(", ");
    match database.backend() {
        house::Backend::Sqlite => database.sql("ANALYZE"),
        house::Backend::Postgres => database.sql(&format!("VACUUM ANALYZE {tables}, images")),
        _ => database.sql(&format!("ANALYZE TABLE {tables}, images")),
    }
}
