//! One schedule of a pass: its row, what was decided about it, and what that leaves to be written.

use std::collections::{HashMap, HashSet};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::batch::Terms;
use super::pass::Told;
use super::record::{Moved, OpenRun, Records};
use super::work::{Going, Made, Wanted};
use crate::config::schedule::{Definition, Overlap, Schedule};
use crate::error::Result;
use crate::firing::{self, Decision, Item, Outcome, Situation, Work};
use crate::model::time::{Micros, SECOND};
use crate::trigger::Timer;

/// How soon a schedule is looked at again whose queued due time waits for the work before it: a tenth of how long it
/// has waited, within these.
const QUEUED: [Micros; 2] = [SECOND / 5, 2 * SECOND];

/// The columns of a [`Row`], but the clock.
pub(super) const ROW: &str = "name, definition, declared, sweeps, anchor, next_fire_at, found_late, decided_until, \
     queued_for, last_fired_at, last_entry_id, last_sweep_id, run_from, \
     COALESCE(paused_since, (SELECT held_since FROM soloist_hold WHERE id = 1)) AS paused_since";

/// A schedule, its row locked.
#[derive(QueryableByName)]
pub(super) struct Row {
    #[diesel(sql_type = Text)]
    pub name: String,
    #[diesel(sql_type = Text)]
    definition: String,
    #[diesel(sql_type = Integer)]
    declared: i32,
    #[diesel(sql_type = Integer)]
    sweeps: i32,
    #[diesel(sql_type = BigInt)]
    anchor: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    next_fire_at: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    found_late: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    decided_until: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    queued_for: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    last_fired_at: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub last_entry_id: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub last_sweep_id: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_from: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    paused_since: Option<i64>,
    #[diesel(sql_type = BigInt)]
    pub now: i64,
}

impl Row {
    /// The schedule, if this version can read it.
    pub fn schedule(&self) -> Result<Schedule> {
        Definition::from_json(&self.definition)?.schedule(&self.name)
    }

    /// What a decision about it rests on.
    fn situation<'a>(&self, schedule: &'a Schedule, timer: &'a Timer, work: Work, terms: &Terms<'_>) -> Situation<'a> {
        Situation {
            schedule,
            timer,
            next: self.next_fire_at,
            queued_for: self.queued_for,
            paused: self.paused_since.is_some(),
            work,
            fired_at: self.last_fired_at,
            now: self.now,
            missed_before: terms.missed_before,
            found_late: self.found_late.filter(|at| self.next_fire_at.is_some_and(|next| next <= *at)),
            may_wait: terms.may_wait,
        }
    }

    /// As it is, to be looked at no more.
    fn unmoved(&self) -> Moved {
        Moved {
            name: self.name.clone(),
            was: self.next_fire_at,
            look_at: None,
            next_fire_at: self.next_fire_at,
            found_late: None,
            decided_until: self.decided_until,
            queued_for: self.queued_for,
            last_fired_at: self.last_fired_at,
            last_entry_id: self.last_entry_id,
            last_sweep_id: self.last_sweep_id,
            run_from: self.run_from,
        }
    }
}

/// What was decided about one schedule.
pub(super) struct Decided {
    row: Row,
    schedule: Schedule,
    decision: Decision,
}

impl Decided {
    /// Decides about a schedule.
    pub fn of(row: Row, schedule: Schedule, going: &Going, terms: &Terms<'_>) -> Self {
        let work = match schedule.overlap {
            Overlap::Allow => Work::Over,
            Overlap::Skip | Overlap::Queue => going.of(row.last_entry_id, row.last_sweep_id),
        };
        let timer = schedule.timer(row.anchor);
        let decision = firing::decide(&row.situation(&schedule, &timer, work, terms));
        Self { row, schedule, decision }
    }

    /// Decides that nothing of it fires that waits or, with `due`, was due until now.
    pub fn given_up(row: Row, schedule: Schedule, due: bool, reason: &'static str) -> Self {
        let timer = schedule.timer(row.anchor);
        let terms = Terms { node: None, missed_before: row.now, may_wait: false };
        let decision = firing::give_up(&row.situation(&schedule, &timer, Work::Over, &terms), due, reason);
        Self { row, schedule, decision }
    }

    /// When it was decided.
    pub fn now(&self) -> Micros {
        self.row.now
    }

    /// False if all that is due waits as it did before: the row stays as it is.
    pub fn is_moved(&self) -> bool {
        let Decision { found_late, next, items, .. } = &self.decision;
        found_late.is_none()
            || *found_late != self.row.found_late
            || *next != self.row.next_fire_at
            || !items.is_empty()
    }

    /// The entry whose retry is to begin now.
    pub fn retry_to_bring_forward(&self) -> Option<i64> {
        self.row.last_entry_id.filter(|_| self.decision.bring_forward)
    }

    /// Under what its items are recorded.
    pub fn keys(&self) -> impl Iterator<Item = (&str, Micros)> {
        self.decision.items.iter().map(|item| (self.row.name.as_str(), due(item)))
    }

    /// Leaves out what is recorded already.
    pub fn leave_out(&mut self, known: &HashSet<(String, Micros)>) {
        let name = self.row.name.clone();
        self.decision.items.retain(|item| !known.contains(&(name.clone(), due(item))));
    }

    /// What is to be made for it, in the order in which [`Decided::record`] takes it.
    pub fn wanted(&self) -> impl Iterator<Item = Wanted<'_>> {
        self.decision.items.iter().filter_map(|item| match item {
            Item::Fire(due) => {
                let sweeps = self.row.sweeps == 1;
                Some(Wanted { schedule: &self.schedule, due: *due, sweeps, by_hand: false })
            }
            Item::Leave { .. } => None,
        })
    }

    /// What is to be told of it.
    pub fn told(&self) -> impl Iterator<Item = Told> {
        self.decision.items.iter().map(|item| {
            let (outcome, count, late) = match item {
                Item::Fire(due) => (Outcome::Fired, 1, Some(self.row.now - due)),
                Item::Leave { outcome, count, .. } => (*outcome, *count, None),
            };
            Told { schedule: self.row.name.clone(), outcome, count, late }
        })
    }

    /// Where the run begins that its next unfired due time may lengthen.
    pub fn open_run(&self) -> Option<(&str, Micros)> {
        self.row.run_from.map(|from| (self.row.name.as_str(), from))
    }

    /// Writes down what became of its due times; how its row is to be left.
    pub fn record(
        &self,
        made: &mut impl Iterator<Item = Made>,
        runs: &HashMap<(String, Micros), OpenRun>,
        records: &mut Records<'_>,
    ) -> Moved {
        let name = &self.row.name;
        let mut after = self.row.unmoved();
        let mut run = self.row.run_from.and_then(|from| runs.get(&(name.clone(), from)));
        for item in &self.decision.items {
            match item {
                Item::Fire(due) => {
                    let work = made.next().unwrap_or_default();
                    records.fired(name, *due, work);
                    after.last_fired_at = Some(self.row.now);
                    (after.last_entry_id, after.last_sweep_id) = (work.entry_id, work.sweep_id);
                    after.run_from = None;
                }
                Item::Leave { outcome, reason, from, until, count } => {
                    match run.filter(|run| run.is_alike(*outcome, reason)) {
                        Some(run) => records.lengthen(name, run.from, *until, *count),
                        None => {
                            records.left(name, (*outcome, reason), (*from, *until, *count));
                            after.run_from = Some(*from);
                        }
                    }
                }
            }
            // Whatever came first, the next unfired one is not its neighbour.
            run = None;
        }
        after.next_fire_at = self.decision.next;
        after.decided_until = self.decision.decided_until.max(self.row.decided_until);
        after.queued_for = self.decision.queued_for;
        let [soonest, latest] = QUEUED;
        let again = |since: Micros| self.row.now + ((self.row.now - since) / 10).clamp(soonest, latest);
        let queued = after.queued_for.filter(|_| self.row.paused_since.is_none()).map(again);
        after.found_late = self.decision.found_late;
        after.look_at = [after.next_fire_at, queued].into_iter().flatten().min().filter(|_| self.row.declared == 1);
        after
    }
}

fn due(item: &Item) -> Micros {
    match item {
        Item::Fire(due) => *due,
        Item::Leave { from, .. } => *from,
    }
}
