//! What a file may say already and this version does not do yet: said aloud, so that nobody relies on it.

use super::Config;

impl Config {
    /// One sentence for each setting that is read and checked but not in force in this version.
    pub fn not_in_force(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for task in self.tasks.values() {
            let settings =
                [("max_running", task.max_running > 0), ("rate", task.rate.is_some()), ("serial_by", task.serial)];
            for (key, is_set) in settings {
                if is_set {
                    let name = &task.name;
                    remarks.push(format!(
                        "tasks.{name}.{key} is not in force in this version: entries start without that limit"
                    ));
                }
            }
        }
        remarks
    }
}
