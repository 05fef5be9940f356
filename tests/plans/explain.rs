//! Asks the database how it runs a statement, and reads from the answer whether it scans or sorts.

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use soloist::store::Connection;
use soloist::store::dialect::Dialect;
use soloist::store::statement::{Bind, Statement};

/// Tables that grow with what has been done: none may be read whole. Nodes, tasks and the like are few.
const GROWING: [&str; 3] = ["soloist_entries", "soloist_attempts", "soloist_audit"];

/// Indexes that hold only what runs: reading all of one is looking at all that runs.
const OF_THE_RUNNING: [&str; 2] = ["soloist_entries_running", "soloist_entries_lease"];

/// What may be as it is: how the statement begins, which of its lines are meant, and why.
const ALLOWED: [(&str, &[&str], &str); 17] = [
    ("SELECT DISTINCT e.node_id", &["Sort"], "sorts what runs, by node: as many rows as all nodes work at"),
    (
        "SELECT id FROM soloist_entries WHERE task = ? AND finished_at <=",
        &["Sort"],
        "prune, on PostgreSQL, until the server first analyzes the table: it takes the task's ended rows for few",
    ),
    ("SELECT node_id, task, count(*)", &["Sort", "filesort"], "sorts what runs, by node and task"),
    (
        "SELECT node_id, count(*) AS n FROM (SELECT node_id",
        &["Sort", "FOR GROUP", "filesort"],
        "sorts what was taken over, at most 10,000, by node",
    ),
    (
        "SELECT count(*) AS completed",
        &["Sort"],
        "on PostgreSQL, while it takes the task's ended rows for fewer than the cap",
    ),
    (
        "SELECT d.name, d.body, n.name AS node",
        &["Sort", "TEMP B-TREE FOR ORDER BY", "filesort"],
        "what living nodes declare: as many rows as all their tasks",
    ),
    (
        "SELECT id FROM (SELECT e.id FROM soloist_entries e WHERE",
        &["Sort"],
        "on PostgreSQL, which is told not to where it runs: the rows that it reads are counted in `pages`",
    ),
    ("SELECT e.id FROM soloist_entries e WHERE", &["Sort"], "the same"),
    (
        "SELECT id FROM (SELECT e.id FROM soloist_entries e WHERE e.state = 'pending' ORDER BY e.task,",
        &["SCAN e USING COVERING INDEX soloist_entries_claim"],
        "on SQLite: the first of what waits, no more than are asked for",
    ),
    ("SELECT id, at, who, role, via", &["Sort"], "the same"),
    (
        "SELECT id AS n FROM soloist_audit WHERE id < ?",
        &["Sort", "Seq Scan on soloist_audit"],
        "the same, with a log that is not analyzed yet",
    ),
    (
        "SELECT id FROM soloist_audit WHERE at <=",
        &["Sort", "Seq Scan on soloist_audit"],
        "prune of a log that PostgreSQL has not analyzed yet",
    ),
    ("DELETE FROM soloist_audit", &["Seq Scan on soloist_audit"], "prune, with a thousand ids of a short log"),
    (
        "SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM soloist_entries WHERE task",
        &["Sort"],
        "whether a sweep is worked, on PostgreSQL, until the server first analyzes the table",
    ),
    ("SELECT a.claim, a.attempt", &["Sort"], "the attempts of one entry"),
    ("INSERT INTO soloist_audit", &["soloist_audit | ALL"], "on MySQL, which says so of each INSERT"),
    (
        "DELETE FROM soloist_attempts",
        &["Seq Scan on soloist_attempts", "Seq Scan on soloist_entries kept"],
        "prune, on PostgreSQL, with a thousand ids: cheaper than as many look-ups until the table has many more rows",
    ),
];

/// Explains each; what is wrong, with the statement and its plan.
pub fn all(connection: &mut Connection, state: &str, statements: &[Statement]) -> Vec<String> {
    let mut found = Vec::new();
    for statement in statements {
        for (how, plan) in plans(connection, statement) {
            let sql = statement.sql();
            let allowed = ALLOWED.iter().filter(|(start, _, _)| sql.starts_with(start));
            let allowed: Vec<_> = allowed.flat_map(|(_, lines, _)| lines.iter()).collect();
            let wrong = |line: &&String| {
                is_wrong(connection.dialect(), line) && !allowed.iter().any(|allowed| line.contains(**allowed))
            };
            if plan.iter().any(|line| wrong(&line)) {
                let plan = plan.join("\n");
                found.push(format!("{state}, {how}:\n{sql}\n{plan}"));
            }
        }
    }
    found
}

fn is_wrong(dialect: Dialect, line: &str) -> bool {
    let grows = |name: &str| GROWING.contains(&name) || ["e", "o", "h"].contains(&name);
    let word_after = |words: &str| line.split_once(words).and_then(|(_, rest)| rest.split_whitespace().next());
    match dialect {
        Dialect::Sqlite => {
            let of_the_running = OF_THE_RUNNING.iter().any(|index| line.ends_with(&format!("INDEX {index}")));
            // One FOR DISTINCT sorts nothing: it remembers the few values that it has met.
            line.contains("TEMP B-TREE FOR ORDER")
                || line.contains("TEMP B-TREE FOR GROUP")
                || (word_after("SCAN ").is_some_and(grows) && !of_the_running)
        }
        Dialect::Postgres => {
            line.trim_start().trim_start_matches("->").trim_start().starts_with("Sort")
                || word_after("Seq Scan on ").is_some_and(grows)
        }
        Dialect::Mysql => {
            let columns: Vec<_> = line.split(" | ").collect();
            let whole = columns[1] == "ALL" || columns[1] == "index";
            let is_table = !columns[3].contains("json_table");
            columns[3].contains("filesort") || (whole && is_table && grows(columns[0]))
        }
    }
}

/// How it is run: on PostgreSQL for these values and for any.
fn plans(connection: &mut Connection, statement: &Statement) -> Vec<(&'static str, Vec<String>)> {
    match connection.dialect() {
        Dialect::Sqlite => vec![("as it is", sqlite(connection, statement))],
        Dialect::Mysql => vec![("as it is", mysql(connection, statement))],
        Dialect::Postgres => vec![
            ("for these values", postgres(connection, statement.clone().after("EXPLAIN (COSTS off)").once())),
            ("for any values", for_any_values(connection, statement)),
        ],
    }
}

fn sqlite(connection: &mut Connection, statement: &Statement) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text)]
        detail: String,
    }
    let lines: Vec<Line> = connection.load(statement.clone().after("EXPLAIN QUERY PLAN").once()).unwrap();
    lines.into_iter().map(|line| line.detail).collect()
}

fn postgres(connection: &mut Connection, explain: Statement) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
        line: String,
    }
    let lines: Vec<Line> = connection.load(explain).unwrap();
    lines.into_iter().map(|line| line.line).collect()
}

/// The plan that PostgreSQL keeps with a prepared statement once it has run often.
fn for_any_values(connection: &mut Connection, statement: &Statement) -> Vec<String> {
    let mut sql = String::new();
    for (place, piece) in statement.sql().split('?').enumerate() {
        if place > 0 {
            sql.push_str(&format!("${place}"));
        }
        sql.push_str(piece);
    }
    let types: Vec<_> = statement
        .binds()
        .iter()
        .map(|bind| match bind {
            Bind::Integer(_) => "bigint",
            Bind::Double(_) => "double precision",
            Bind::Boolean(_) => "boolean",
            Bind::Text(_) => "text",
            Bind::Integers(_) => "bigint[]",
            Bind::Texts(_) => "text[]",
        })
        .collect();
    let (types, values) = match types.len() {
        0 => (String::new(), String::new()),
        n => (format!("({})", types.join(", ")), format!("({})", vec!["NULL"; n].join(", "))),
    };
    connection.batch(&format!("SET plan_cache_mode = force_generic_plan; PREPARE explained {types} AS {sql}")).unwrap();
    let plan = postgres(connection, Statement::new(format!("EXPLAIN (COSTS off) EXECUTE explained {values}")).once());
    connection.batch("DEALLOCATE explained; RESET plan_cache_mode").unwrap();
    plan
}

fn mysql(connection: &mut Connection, statement: &Statement) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Nullable<Text>)]
        table: Option<String>,
        #[diesel(sql_type = Nullable<Text>, column_name = "type")]
        how: Option<String>,
        #[diesel(sql_type = Nullable<Text>)]
        key: Option<String>,
        #[diesel(sql_type = Nullable<Text>, column_name = "Extra")]
        extra: Option<String>,
    }
    let lines: Vec<Line> = connection.load(statement.clone().after("EXPLAIN").once()).unwrap();
    let text = |column: Option<String>| column.unwrap_or_default();
    let line = |line: Line| [text(line.table), text(line.how), text(line.key), text(line.extra)].join(" | ");
    lines.into_iter().map(line).collect()
}
