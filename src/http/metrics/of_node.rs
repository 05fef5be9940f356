//! What is of this node alone: its counts since it started, and its connections.

use super::definition as of;
use super::family::Family;
use crate::config::DatabaseUrl;
use crate::firing::Outcome;
use crate::http::state::ApiState;

/// The metrics of this node.
pub(super) fn families(state: &ApiState) -> Vec<Family> {
    let meters = &state.watch.meters;
    let database = match state.store.database.url {
        DatabaseUrl::Sqlite { .. } => "sqlite",
        DatabaseUrl::Postgres(_) => "postgres",
        DatabaseUrl::Mysql(_) => "mysql",
    };
    let mut families = vec![
        Family::new(of::NODE).count(&[&state.watch.node, env!("CARGO_PKG_VERSION"), database], 1_u64),
        Family::new(of::UPTIME).figure(&[], meters.since().elapsed().as_secs_f64()),
        Family::new(of::LEADER).count(&[], u64::from(meters.is_leading())),
        Family::new(of::STREAMS).count(&[], state.watch.events.count()),
        Family::new(of::RESCUED).count(&[], meters.of_rescues()),
    ];
    families.extend(tasks(state));
    families.extend(firings(state));
    let duties = meters.of_duties();
    families.push(duties.iter().fold(Family::new(of::DUTIES), |family, (duty, n)| family.count(&[duty], *n)));
    families.extend(pools(state));
    let requests = meters.of_requests();
    families.push(requests.iter().fold(Family::new(of::REQUESTS), |family, ((method, route, class), n)| {
        family.count(&[method, route, &format!("{class}xx")], *n)
    }));
    families
}

fn tasks(state: &ApiState) -> [Family; 7] {
    let mut families =
        [of::STARTED, of::COMPLETED, of::RETRIED, of::FAILED, of::WAITS, of::RUNS, of::LOST].map(Family::new);
    for (task, counts) in state.watch.meters.of_tasks() {
        let [started, completed, retried, failed, waits, runs, lost] = families;
        let task = [task.as_str()];
        families = [
            started.count(&task, counts.started),
            completed.count(&task, counts.completed),
            retried.count(&task, counts.retried),
            failed.count(&task, counts.failed),
            waits.spread(&task, &counts.waits),
            runs.spread(&task, &counts.runs),
            lost.count(&task, counts.lost),
        ];
    }
    families
}

fn firings(state: &ApiState) -> [Family; 2] {
    let firings = state.watch.meters.of_firings();
    let outcomes = [Outcome::Fired, Outcome::Skipped, Outcome::Missed].map(Outcome::word);
    let mut decided = Family::new(of::FIRINGS);
    for ((schedule, outcome), n) in firings.all(outcomes) {
        decided = decided.count(&[&schedule, outcome], n);
    }
    [decided, Family::new(of::LATE).spread(&[], &firings.late)]
}

fn pools(state: &ApiState) -> [Family; 3] {
    let mut families = [of::POOL, of::POOL_MAX, of::POOL_WAITS].map(Family::new);
    for pool in state.store.pools() {
        let [connections, most, waits] = families;
        families = [
            connections.count(&[pool.name, "lent"], pool.lent).count(&[pool.name, "idle"], pool.idle),
            most.count(&[pool.name], pool.max),
            waits.spread(&[pool.name], &pool.waits),
        ];
    }
    families
}
