//! Where a bench measures: its mark, its database, and that nothing stays behind.

use crate::cli::ask::Asked;
use crate::cli::output;
use crate::config::{Config, DatabaseUrl};
use crate::error::{Error, Result};
use crate::model::By;
use crate::store::{Store, bench, migrate, nodes, tasks};

use super::Stop;

/// What all measurements of one run share.
#[derive(Clone)]
pub(super) struct Ground {
    pub config: Config,
    /// Connections of the bench's own, beside those of its node.
    pub store: Store,
    pub mark: String,
    pub stop: Stop,
    /// An incarnation for claims that no actor makes; it also says that this run lives.
    pub node_id: i64,
}

impl Ground {
    /// Takes away what earlier runs left, and makes this run known.
    pub async fn prepare(asked: &Asked, config: Config, stop: Stop) -> Result<Self> {
        let memory = matches!(config.database.url, DatabaseUrl::Sqlite { memory: true, .. });
        let store = Store::new(&config.database, config.node.lease, 1);
        let mark: String = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
        let (asked, lent, name) = (asked.clone(), store.clone(), format!("{}{mark}-limit", bench::PREFIX));
        let (lease, parts) = (config.node.lease, [bench::task(&mark, "drain"), bench::task(&mark, "limit")]);
        let node_id = blocking(move || {
            if !memory {
                // Says what is missing, in the words of all commands.
                drop(asked.connect()?);
            }
            let mut connection = lent.work()?;
            if memory {
                migrate::up(&mut connection)?;
            }
            let leftovers = bench::leftovers(&mut connection)?;
            if !leftovers.is_empty() {
                output::note("taking away what an earlier bench left");
            }
            for mark in leftovers {
                bench::erase(&mut connection, &mark)?;
            }
            let node_id = nodes::register(&mut connection, &name, &[], lease)?;
            for task in parts {
                tasks::pause(&mut connection, &task, &By::itself("bench"), None)?;
            }
            Ok(node_id)
        })
        .await?;
        Ok(Self { config, store, mark, stop, node_id })
    }

    /// The name of a task of this run.
    pub fn task(&self, part: &str) -> String {
        bench::task(&self.mark, part)
    }

    /// Takes away all that this run has written.
    pub async fn clear(&self) -> Result<()> {
        let (store, mark) = (self.store.clone(), self.mark.clone());
        blocking(move || bench::erase(&mut *store.work()?, &mark)).await
    }
}

/// Runs work that blocks beside the actors.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = actix_web::web::block(work).await;
    done.unwrap_or_else(|_| Err(Error::internal("the bench was cut short")))
}
