//! What a node tells the others of its schedules.

use crate::config::schedule::Definition;
use crate::config::{self, Config};
use crate::store::nodes::{Declaration, DeclarationKind};
use crate::store::schedules::DeclaredSchedule;

/// What a node declares of its schedules.
pub(super) fn declarations(config: &Config) -> Vec<Declaration> {
    let declaration = |schedule: &config::Schedule| {
        let sweeps = config.tasks.get(&schedule.task).is_some_and(|task| task.source.is_some());
        let declared = DeclaredSchedule { definition: Definition::from(schedule), sweeps };
        Declaration { kind: DeclarationKind::Schedule, name: schedule.name.clone(), body: declared.to_json() }
    };
    config.schedules.values().map(declaration).collect()
}
