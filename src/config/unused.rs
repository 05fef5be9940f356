//! Settings that are right and of no effect, for `soloist check` to say.

use super::Config;

impl Config {
    /// One sentence for each setting that changes nothing.
    pub fn unused(&self) -> Vec<String> {
        let sweeps = |task: &str| self.tasks.get(task).is_some_and(|task| task.source.is_some());
        let idle = self.schedules.values().filter(|schedule| schedule.payload.is_some() && sweeps(&schedule.task));
        idle.map(|schedule| {
            let (name, task) = (&schedule.name, &schedule.task);
            format!("schedules.{name}.payload is not used: {task} has a source, and each row is its own payload")
        })
        .collect()
    }
}
