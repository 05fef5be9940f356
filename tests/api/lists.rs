//! Lists: filters, pages that stay right while rows move, and cursors of every list.

use std::collections::{BTreeSet, HashSet};

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::server::Api;

on_every_backend!(
    every_filter_is_taken_alone_and_together,
    pages_stay_right_while_rows_move,
    a_walk_is_bounded_and_goes_on,
    nodes_come_in_pages,
);

fn ids(page: &Value) -> Vec<i64> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// All pages of a list; how many they were.
fn walk(api: &Api, path: &str, mut between: impl FnMut()) -> (Vec<i64>, usize) {
    let (mut all, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = api.get(&format!("{path}{cursor}"));
        all.extend(ids(&page));
        pages += 1;
        assert!(pages < 1000, "{path} comes to an end");
        let Some(next) = page["next_cursor"].as_str() else { return (all, pages) };
        cursor = format!("&cursor={next}");
        between();
    }
}

fn fill(database: &TestDatabase) {
    let states = ["pending", "running", "completed", "failed", "cancelled"];
    let rows: Vec<_> = (0..60)
        .map(|n| {
            let state = states[n % 5];
            let task = if n % 2 == 0 { "t" } else { "p" };
            let key = if n % 3 == 0 { format!("'k{}'", n % 4) } else { "NULL".to_owned() };
            let schedule = if n % 4 == 0 { "'s'" } else { "NULL" };
            let error = if n % 7 == 0 { "'HTTP 503: no 50% Way'" } else { "NULL" };
            let ended = if n % 5 >= 2 { (1000 + n).to_string() } else { "NULL".to_owned() };
            let node = if n % 5 == 1 { "0" } else { "NULL" };
            format!("('{task}', '{state}', {key}, 0, {schedule}, {error}, {n}, {ended}, {node})")
        })
        .collect();
    database.sql(&format!(
        "INSERT INTO soloist_entries (task, state, dedupe_key, key_held, schedule, error, created_at, finished_at, \
         node_id) VALUES {}",
        rows.join(", ")
    ));
}

fn every_filter_is_taken_alone_and_together(database: &TestDatabase) {
    let api = Api::start(database);
    fill(database);
    // Each filter as a query and as SQL.
    let filters = [
        ("task=t", "task = 't'"),
        ("state=", ""),
        ("key=k1", "dedupe_key = 'k1'"),
        ("error=50%25+Way", "error LIKE '%50%'"),
        ("schedule=s", "schedule = 's'"),
        ("before=1970-01-01T00:00:00.001030Z", "COALESCE(finished_at, created_at) <= 1030"),
        ("older_than=1h", "1 = 1"),
    ];
    for state in ["", "pending", "running", "completed", "failed", "cancelled"] {
        for chosen in 0..(1 << filters.len()) {
            let given = filters.iter().enumerate().filter(|(place, _)| chosen & (1 << place) != 0);
            let (mut query, mut sql) = (String::new(), "1 = 1".to_owned());
            for (_, (parameter, condition)) in given {
                if *parameter == "state=" {
                    query.push_str(&format!("&state={state}"));
                    sql.push_str(&if state.is_empty() { String::new() } else { format!(" AND state = '{state}'") });
                } else {
                    query.push_str(&format!("&{parameter}"));
                    sql.push_str(&format!(" AND {condition}"));
                }
            }
            if state.is_empty() != (chosen & 2 == 0) {
                continue;
            }
            let want = database.query(&format!("SELECT id FROM soloist_entries WHERE {sql} ORDER BY id DESC"));
            let want: Vec<i64> = want.into_iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect();
            let (found, _) = walk(&api, &format!("/entries?limit=13{query}"), || {});
            assert_eq!(found, want, "{query}");
        }
    }
}

fn pages_stay_right_while_rows_move(database: &TestDatabase) {
    let api = Api::start(database);
    let rows = |task: &str, n: usize| {
        let many = vec![json!({ "task": task }); n];
        ids(&api.admin("POST", "/entries", &Value::from(many).to_string()).json())
    };
    let all = rows("t", 120);
    for query in ["task=t", "state=pending", "task=t&state=pending", "before=2999-01-01T00:00:00Z"] {
        let (mut moved, mut added) = (HashSet::new(), HashSet::new());
        let mut turn = 0;
        let (seen, _) = walk(&api, &format!("/entries?limit=9&{query}"), || {
            turn += 1;
            // Some start and come back, one ends, one goes, one comes.
            database.sql(&format!("UPDATE soloist_entries SET run_at = run_at + 60000000 WHERE id % 5 = {}", turn % 5));
            let gone = &all[(turn * 37) % all.len()];
            moved.insert(*gone);
            let away = "state = 'completed', task = 'p', finished_at = 9000000000000000, created_at = 9000000000000000";
            database.sql(&format!("UPDATE soloist_entries SET {away} WHERE id = {gone}"));
            added.extend(rows("t", 1));
        });
        let once: BTreeSet<_> = seen.iter().collect();
        assert_eq!(once.len(), seen.len(), "{query}: none comes twice");
        let stayed = all.iter().filter(|id| !moved.contains(id));
        let missed: Vec<_> = stayed.filter(|id| !once.contains(id)).collect();
        assert!(missed.is_empty(), "{query}: {missed:?} are missed");
        assert!(seen.iter().all(|id| !added.contains(id)), "{query}: what comes later is on no later page");
        let back = "state = 'pending', task = 't', finished_at = NULL, created_at = 1";
        database.sql(&format!("UPDATE soloist_entries SET {back} WHERE task = 'p'"));
    }
}

fn a_walk_is_bounded_and_goes_on(database: &TestDatabase) {
    let api = Api::start(database);
    let digits = (0..10).map(|d| format!("SELECT {d} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let places: Vec<_> = (0..4).map(|place| format!("({digits}) AS p{place}")).collect();
    let many = format!(
        "INSERT INTO soloist_entries (task, state, finished_at) SELECT 't', 'completed', 1 FROM {}",
        places.join(" CROSS JOIN ")
    );
    database.sql("INSERT INTO soloist_entries (task, dedupe_key, error) VALUES ('p', 'rare', 'a rare error')");
    database.sql(&many);
    database.sql(&many);
    // Found at once, since an index has few of it.
    for query in ["task=p", "state=pending", "key=rare", "task=p&state=pending", "key=rare&error=rare"] {
        let page = api.get(&format!("/entries?{query}"));
        assert_eq!((ids(&page).len(), &page["next_cursor"]), (1, &Value::Null), "{query}");
    }
    // Only by a walk: each page looks at 10,000 rows and says where to go on.
    for query in ["error=rare", "error=rare&before=2999-01-01T00:00:00Z", "state=completed&error=rare"] {
        let first = api.get(&format!("/entries?{query}"));
        assert!(ids(&first).is_empty() && first["next_cursor"].is_string(), "{query}: {first}");
        let (seen, pages) = walk(&api, &format!("/entries?{query}"), || {});
        assert_eq!((seen.len(), pages), (usize::from(!query.starts_with("state")), 3), "{query}");
    }
}

fn nodes_come_in_pages(database: &TestDatabase) {
    let api = Api::start(database);
    let row = "('old', 'worker', '1', 1, 9000000000000000, 1)";
    database.sql(&format!(
        "INSERT INTO soloist_nodes (name, roles, version, started_at, seen_at, lease_until) VALUES {}",
        vec![row; 600].join(", ")
    ));
    let (seen, pages) = walk(&api, "/nodes?limit=250", || {});
    assert_eq!((seen.len(), pages), (601, 3));
    assert!(seen.is_sorted_by(|a, b| a > b));
}
