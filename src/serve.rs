//! A node as a process: the HTTP server beside the actors, signals, the order of a stop.

mod reload;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use actix_web::{App, HttpServer};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, NodeRole, Token};
use crate::error::{Error, Result};
use crate::http::token_file::{self, Made};
use crate::http::{self, ApiState, Readiness, Tokens, Waiting, Watch};
use crate::node::{Migrate, Node};
use crate::{handler, store};

/// A token of fewer characters is warned of.
const SHORT: usize = 16;

/// Runs a node until it is told to stop. `file` is read again on SIGHUP.
pub fn run(config: Config, file: Option<PathBuf>, migrate: Migrate) -> Result<()> {
    handler::webhook::install_tls_provider();
    handler::command::adopt_orphans();
    let system = actix::System::new();
    system.block_on(serve(Arc::new(config), file, migrate))
}

async fn serve(config: Arc<Config>, file: Option<PathBuf>, migrate: Migrate) -> Result<()> {
    let mut signals = Signals::new()?;
    let readiness = Arc::new(Readiness::default());
    let node = {
        let readiness = readiness.clone();
        Node::start(config.clone(), move |felt| readiness.set_database(felt))
    };
    let mut made = None;
    let tokens = Tokens::new(&config.http.tokens);
    let stop = CancellationToken::new();
    let waiting = Waiting::new(node.woken.clone(), config.node.poll);
    let watch = Watch::new(node.store.clone(), &config.node.name, node.meters.clone(), node.reports.clone());
    let mut server = None;
    if config.node.has(NodeRole::Http) {
        let state = Arc::new(state(&node, &config, &tokens, &readiness, (&waiting, &watch)));
        server = Some(listen(&config, state, &stop)?);
        // Only a node that listens makes a token: one that cannot must not take another's file away.
        tokens.replace(&self::tokens(&config, file.as_deref(), &mut made)?);
    }
    tracing::info!(node = config.node.name, version = env!("CARGO_PKG_VERSION"), "starting");

    let opened = tokio::select! {
        opened = node.open(migrate) => opened?,
        () = signals.stop() => {
            // The lease may be there already, and handlers may run.
            node.drain(config.node.drain).await;
            tracing::info!("stopped before the node was ready");
            return Ok(());
        }
    };
    readiness.set_schema(true);
    tracing::info!(
        database = opened.server.name,
        at = config.database.url.describe(),
        tasks = opened.plans.iter().map(|plan| plan.name()).collect::<Vec<_>>().join(", "),
        "ready"
    );

    while signals.next().await == Heard::HangUp {
        reload::reload(&node, &config, file.as_deref(), (&tokens, &mut made)).await;
    }
    tracing::info!(drain_s = config.node.drain.as_secs_f64(), "stopping: finishing what runs");
    readiness.set_draining(true);
    waiting.close();
    watch.events.close();
    tokio::select! {
        () = node.drain(config.node.drain) => {}
        () = signals.stop() => {
            tracing::warn!("a second signal: stopping at once; what runs is taken over when the lease ends");
            std::process::exit(1);
        }
    }
    stop.cancel();
    if let Some(server) = server {
        // The server has stopped accepting; what it still answers does not keep a stopped node alive.
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), server).await;
    }
    tracing::info!("stopped");
    Ok(())
}

/// The tokens of the file; or, where it names none, the one made for this run, which nodes of one directory share.
fn tokens(config: &Config, file: Option<&Path>, made: &mut Option<Made>) -> Result<Vec<Token>> {
    if !config.http.tokens.is_empty() || !config.node.has(NodeRole::Http) {
        *made = None;
        for token in config.http.tokens.iter().filter(|token| token.secret.expose().chars().count() < SHORT) {
            tracing::warn!(token = token.name, "the token has fewer than {SHORT} characters and may be guessed");
        }
        return Ok(config.http.tokens.clone());
    }
    if let Some(made) = made {
        return Ok(vec![made.token.clone()]);
    }
    let directory = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let path = directory.join(token_file::NAME);
    let fresh = token_file::create(&path)?;
    tracing::info!(path = path.display().to_string(), "no token is configured: one for this run is in this file");
    let tokens = vec![fresh.token.clone()];
    *made = Some(fresh);
    Ok(tokens)
}

fn state(
    node: &Node,
    config: &Config,
    tokens: &Tokens,
    readiness: &Arc<Readiness>,
    (waiting, watch): (&Waiting, &Watch),
) -> ApiState {
    let scheduler = node.scheduler.clone();
    let plans = node.plans.clone();
    let firing = node.firing.as_ref().map(|firing| firing.actor.clone());
    ApiState {
        store: node.store.clone(),
        watch: watch.clone(),
        tokens: tokens.clone(),
        show_payload: config.http.show_payload,
        flask_apscheduler: config.http.flask_apscheduler,
        readiness: readiness.clone(),
        waiting: waiting.clone(),
        wake: Arc::new(move || scheduler.do_send(crate::actor::message::Wake)),
        wake_firing: Arc::new(move || {
            if let Some(firing) = &firing {
                firing.do_send(crate::actor::message::Wake);
            }
        }),
        sources: Arc::new(move |task| -> Option<Arc<store::source::TableSource>> {
            let plans = plans.read().unwrap_or_else(PoisonError::into_inner);
            plans.iter().find(|plan| plan.name() == task).and_then(|plan| plan.source.clone())
        }),
    }
}

/// Starts the HTTP server; its end is what comes back.
fn listen(config: &Config, state: Arc<ApiState>, stop: &CancellationToken) -> Result<JoinHandle<std::io::Result<()>>> {
    let prefix = config.http.prefix.clone();
    let server = HttpServer::new(move || {
        let scope = actix_web::web::scope(&prefix);
        App::new().service(scope.configure(http::routes(state.clone())))
    })
    .workers(2)
    // Whoever has gone away is not worked for any longer: see `http::waiting`.
    .h1_allow_half_closed(false)
    .shutdown_signal(stop.clone().cancelled_owned())
    .shutdown_timeout(1)
    .bind(config.http.bind)
    .map_err(|error| {
        let help = "another address in [http] bind, or a node without it: roles = [\"scheduler\", \"worker\"]";
        Error::transient(format!("{} cannot be listened on: {error}; {help}", config.http.bind))
    })?;
    for address in server.addrs() {
        tracing::info!(%address, "listening");
    }
    Ok(actix::spawn(server.run()))
}

/// The signals that a node hears.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn new() -> Result<Self> {
        let listen = |kind| signal(kind).map_err(|error| Error::internal(format!("signals cannot be heard: {error}")));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.terminate.recv() => Heard::Stop,
            _ = self.interrupt.recv() => Heard::Stop,
            _ = self.hang_up.recv() => Heard::HangUp,
        }
    }

    /// Until one asks for a stop.
    pub(crate) async fn stop(&mut self) {
        while self.next().await != Heard::Stop {}
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Stop,
    HangUp,
}
