//! The calls of the store whose statements are explained.

use std::sync::Arc;
use std::time::Duration;

use soloist::config::NodeRole;
use soloist::config::source::{Source, WriteBack};
use soloist::model::{Backoff, By, Entry, Keep, Retention, State};
use soloist::store::audit::{self, Sought};
use soloist::store::claim::{self, ClaimRequest, Claimant, Starts};
use soloist::store::entries::{self, Action, Filter};
use soloist::store::outside::{self, Report, Terms};
use soloist::store::server::Strategy;
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::source::TableSource;
use soloist::store::statement::Statement;
use soloist::store::sweeps::{self, Step};
use soloist::store::{Connection, Store, nodes, prune, rescue, status, tasks};

use super::LEASE;

/// The node of the filled database that lives.
const LIVING: i64 = 2;

/// Calls all of it; the statements, each text once.
pub fn all(store: &Store) -> Vec<Statement> {
    let mut connection = store.work().unwrap();
    let source = Arc::new(TableSource::resolve(&mut connection, "s", &images()).unwrap());
    let ((), mut statements) = soloist::testing::statements(|| {
        let connection = &mut *connection;
        claim_and_finish(connection, &source);
        outside_workers(connection, &source);
        limited(connection);
        rescue_what_the_dead_had(connection);
        sweep(connection, &source);
        leases(connection);
        people_look(connection);
        people_act(connection);
        prune_what_is_past_its_keep(connection);
    });
    statements.extend(of_a_look_at_the_whole(&mut connection));
    let mut seen = std::collections::HashSet::new();
    statements.retain(|statement| seen.insert(statement.sql()));
    statements
}

/// What status, metrics and the count that is kept ask of the tables that grow; all others are few.
fn of_a_look_at_the_whole(connection: &mut Connection) -> Vec<Statement> {
    let (status, mut statements) = soloist::testing::statements(|| {
        tasks::kept::refresh(connection).unwrap();
        status::read(connection).unwrap()
    });
    assert!(status.tasks.len() >= 5 && status.tasks.iter().all(|task| !task.at_least), "{:?}", status.tasks);
    let grows = |sql: &str| ["soloist_entries", "soloist_attempts"].iter().any(|table| sql.contains(table));
    statements.retain(|statement| grows(&statement.sql()));
    statements
}

fn images() -> Source {
    Source {
        schema: None,
        table: "images".to_owned(),
        key: vec!["id".to_owned()],
        pending: "processed = FALSE".to_owned(),
        done: Some(WriteBack::Set("processed = TRUE".to_owned())),
        failed: Some(WriteBack::Set("tries = tries + 1".to_owned())),
        version: None,
        columns: None,
        order: None,
        ahead: 10_000,
        every: None,
    }
}

fn request(task: &str, limit: usize, source: Option<&Arc<TableSource>>) -> ClaimRequest {
    ClaimRequest {
        task: task.to_owned(),
        limit,
        max_attempts: 3,
        free_key: false,
        at_most_once: false,
        source: source.cloned(),
    }
}

fn take(connection: &mut Connection, strategy: Strategy, request: &ClaimRequest) -> Vec<Entry> {
    let claimant = Claimant { node_id: LIVING, strategy, installation: "plans".into() };
    let due = claim::due(connection, &["a", "b", "c", "d", "s"]).unwrap();
    assert!(due.iter().any(|due| due.task == request.task));
    let due = claim::look(connection, &claimant, std::slice::from_ref(request)).unwrap().pop().unwrap();
    let claimed = claim::claim_due(connection, &claimant, request, due).unwrap();
    assert_eq!(claimed.entries.len() + claimed.settled, request.limit, "{strategy:?}");
    claimed.entries
}

fn claim_and_finish(connection: &mut Connection, source: &Arc<TableSource>) {
    let verdicts = || {
        let text = || Some("said so".to_owned());
        [
            Verdict::Completed { output: None },
            Verdict::Completed { output: text() },
            Verdict::Unneeded,
            Verdict::Retry { after: LEASE, error: "no".to_owned(), output: text(), outcome: "failed" },
            Verdict::Failed { error: "no".to_owned(), output: text() },
            Verdict::HandedBack,
        ]
    };
    for (strategy, task, source) in [
        (Strategy::SkipLocked, "a", None),
        (Strategy::AtomicUpdate, "b", None),
        (Strategy::SkipLocked, "s", Some(source)),
    ] {
        for (limit, free_key) in [(1, false), (50, false), (50, true)] {
            let request = ClaimRequest { free_key, ..request(task, limit, source) };
            let entries = take(connection, strategy, &request);
            let settlements: Vec<_> = entries
                .iter()
                .zip(verdicts().into_iter().cycle())
                .map(|(entry, verdict)| Settlement {
                    source_key: entry.key.clone().filter(|_| entry.from_source),
                    ..Settlement::new(entry.id, entry.claim, entry.attempt, verdict)
                })
                .collect();
            let context = Context {
                node_id: LIVING,
                source: source.map(|source| &**source),
                drop_completed: free_key,
                drop_failed: free_key,
            };
            let settled = settle::settle(connection, &context, &settlements).unwrap();
            assert!(settled.lost.is_empty(), "{task}: {settled:?}");
        }
    }
    assert!(!settle::running(connection, LIVING).unwrap().is_empty());
}

fn outside_workers(connection: &mut Connection, source: &Arc<TableSource>) {
    for (task, source) in [("c", None), ("s", Some(source))] {
        let entries = outside::claim(connection, &request(task, 3, source), 60_000_000).unwrap();
        assert_eq!(entries.len(), 3);
        assert!(outside::extend(connection, entries[0].id, entries[0].claim, 60_000_000).unwrap().is_some());
        let terms = || Terms {
            max_attempts: 3,
            backoff: Backoff::default(),
            drop_completed: false,
            drop_failed: false,
            source: source.cloned(),
        };
        let failed = Report::Failed { error: "no".to_owned(), output: None, retry: true };
        for (entry, report) in entries.iter().zip([Report::Completed { output: None }, failed]) {
            for _ in 0..2 {
                outside::report(connection, entry.id, entry.claim, &report, |_, _| Ok(terms())).unwrap();
            }
        }
    }
}

/// The task `d` with each limit. More entries of one key than a claim looks at, so that it also looks at keys.
fn limited(connection: &mut Connection) {
    let limits = |limits: &str| format!("UPDATE soloist_tasks SET {limits} WHERE name = 'd'");
    connection.batch("INSERT INTO soloist_tasks (name) VALUES ('d')").unwrap();
    let one_key = "INSERT INTO soloist_entries (task, priority, dedupe_key, key_held) \
                   SELECT 'd', -9, 'one', 0 FROM soloist_entries WHERE id <= 1000";
    connection.batch(one_key).unwrap();
    for (set, most) in [
        ("max_running = 1000000", 5),
        ("max_running = 0, rate_starts = 10, rate_span = 1000000", 2),
        ("rate_starts = NULL, serial = 1, keys_held = 0", 5),
    ] {
        connection.batch(&limits(set)).unwrap();
        for strategy in [Strategy::SkipLocked, Strategy::AtomicUpdate] {
            let claimant = Claimant { node_id: LIVING, strategy, installation: "plans".into() };
            let request = request("d", 5, None);
            let due = claim::look(connection, &claimant, std::slice::from_ref(&request)).unwrap().pop().unwrap();
            let claimed = claim::claim_due(connection, &claimant, &request, due).unwrap();
            assert!(claimed.entries.len() <= most, "{set}");
        }
        outside::claim(connection, &request("d", 5, None), 60_000_000).unwrap();
    }
    let starts = Starts::take(connection, "d", 5).unwrap();
    starts.give_back(connection, "d", 1).unwrap();
}

fn rescue_what_the_dead_had(connection: &mut Connection) {
    assert!(rescue::of_ended_nodes(connection).unwrap().entries > 0);
    assert!(rescue::of_missing_nodes(connection).unwrap().entries > 0);
    rescue::of_outside_workers(connection).unwrap();
}

fn sweep(connection: &mut Connection, source: &Arc<TableSource>) {
    sweeps::request_due(connection, "s", Duration::from_secs(1)).unwrap();
    let id = sweeps::request(connection, "s").unwrap();
    let step = |connection: &mut Connection, ahead| sweeps::step(connection, source, "s", LIVING, LEASE, ahead);
    for _ in 0..3 {
        assert!(matches!(step(connection, 1_000_000).unwrap(), Step::Collected(_)));
    }
    assert_eq!(step(connection, 1).unwrap(), Step::Full);
    assert_eq!(sweeps::oldest_open(connection, "s").unwrap().unwrap().id, id);
    assert!(!sweeps::is_over(connection, id).unwrap());
    sweeps::record_failure(connection, "s", &soloist::Error::transient("no")).unwrap();
    sweeps::release(connection, LIVING).unwrap();
    while matches!(step(connection, 1_000_000).unwrap(), Step::Collected(_)) {}
    sweeps::prune(connection, LEASE).unwrap();
}

fn leases(connection: &mut Connection) {
    let id = nodes::register(connection, "new", &[NodeRole::Worker], LEASE).unwrap();
    assert!(nodes::renew(connection, id, LEASE).unwrap());
    nodes::drain(connection, id).unwrap();
    nodes::stop(connection, id).unwrap();
}

/// Every combination of what entries are looked for by.
fn people_look(connection: &mut Connection) {
    let given = |text: &str, is: bool| is.then(|| text.to_owned());
    let states = [None].into_iter().chain(State::ALL.map(Some));
    for (place, state) in states.enumerate() {
        for chosen in 0..16 {
            let has = |bit: u32| chosen & (1 << bit) != 0;
            let filter = Filter {
                ids: None,
                task: given("a", has(0)),
                state,
                key: given("42", has(1)),
                schedule: given("s", has(2)),
                error: given("no", has(3)),
                before: has(3).then_some(1_000_000),
                older_than: None,
            };
            let page = entries::list(connection, &filter, 50, None).unwrap();
            if let Some(next) = page.next_cursor.filter(|_| place < 2) {
                entries::list(connection, &filter, 50, Some(&next)).unwrap();
            }
        }
    }
    let some = Filter { task: Some("a".to_owned()), ..Filter::ids([1, 7, 99]) };
    entries::list(connection, &some, 50, None).unwrap();
    entries::get(connection, 1).unwrap().unwrap();
    for chosen in 0..8 {
        let text = |bit: u32, text: &str| given(text, chosen & (1 << bit) != 0);
        let sought = Sought { by: text(0, "cron"), action: text(1, "pause"), subject: text(2, "tasks/a") };
        audit::list(connection, &sought, 50, None).unwrap();
    }
}

fn people_act(connection: &mut Connection) {
    let by = By::api("cron", "admin");
    let pairs = [(Action::Retry, State::Failed), (Action::Cancel, State::Pending), (Action::Delete, State::Cancelled)];
    for (action, state) in pairs {
        let all = Filter { task: Some("a".to_owned()), ..Filter::default() };
        let dry = entries::apply_in_bulk(connection, action, &all, true, &by).unwrap();
        assert!(dry.matched > dry.left_out, "{action:?}: {dry:?}");
        let some = Filter { state: Some(state), ..Filter::ids((1..2000).collect::<Vec<_>>()) };
        let done = entries::apply_in_bulk(connection, action, &some, false, &by).unwrap();
        assert!(done.changed > 0, "{action:?}: {done:?}");
    }
    audit::prune(connection).unwrap();
}

fn prune_what_is_past_its_keep(connection: &mut Connection) {
    let keep = Keep::For(Duration::from_secs(3600));
    let retention = Retention { completed: keep, failed: keep, cancelled: keep };
    assert!(prune::entries(connection, "a", &retention).unwrap());
    prune::traces(connection).unwrap();
}
