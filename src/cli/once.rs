//! `soloist once`: runs a program on one of however many hosts call it.
//!
//! Owns what may be typed, what is said, and the exit codes. Whose turn it is, is decided in `store::leases`.

mod keeper;
mod program;
mod signals;
mod terminal;
mod turn;

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use clap::Args;

use self::keeper::Keeper;
use self::program::Ended;
use self::turn::{Taken, Turn};
use super::ask::Asked;
use super::output;
use crate::config::{Config, DatabaseUrl, duration};
use crate::error::{Error, Result};
use crate::model::new_entry::check_name;
use crate::store::leases::Standing;
use crate::work::span_text;
use crate::{node, telemetry};

/// `EX_TEMPFAIL` of sysexits.h: it did not run, and may another time.
const SKIPPED: u8 = 75;
/// As `env`, `timeout` and `nohup` have it: the failure is not the program's.
const FAILED: u8 = 125;
/// As in a shell.
const NOT_EXECUTABLE: u8 = 126;
/// As in a shell.
const NOT_FOUND: u8 = 127;
/// As in a shell: the signal's number is added.
const BY_SIGNAL: i32 = 128;

/// The shortest interval, as of schedules.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest: when a name was last run is not kept for ever.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// How often it is looked whether a run that goes on has ended, ± 20 %.
const LOOK: Duration = Duration::from_secs(1);
/// The longest between two looks.
const LOOK_AT_LAST: Duration = Duration::from_secs(60);
/// Before a database that does not answer is asked again.
const AFTER_A_FAULT: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  The same line in the crontab of two hosts: each night one of them runs it.
    0 3 * * *  soloist once --name backup --every 1d -- /usr/local/bin/backup.sh
  On each host of a deployment, one after the other:
    soloist once --name migrate-42 --wait -- ./manage.py migrate
  In a script that must know:
    soloist once --name report --fail -- ./report.sh
    [ $? -ne 75 ] || echo 'it was not our turn'

Exit codes:
  CMD's own   128+n if signal n ended it, 126 if it cannot be executed,
              127 if there is no such program
  0           it was another's turn; 75 with --fail
  125         Soloist failed: no database, or the lease was lost and CMD ended
  2           wrong usage or configuration

CMD does not get variables that hold secrets of Soloist, such as DATABASE_URL
with its password. All callers must name one database; a SQLite file is one
host's.";

/// `soloist once`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Once {
    /// What takes turns: calls with one name on one database
    #[arg(long, value_name = "N", value_parser = name)]
    name: String,
    /// Not again until nine tenths of this have passed since the last start, whatever came of it
    #[arg(long, value_name = "D", default_value = "10s", value_parser = interval, allow_hyphen_values = true)]
    every: Duration,
    /// Wait for its turn, then run
    #[arg(long)]
    wait: bool,
    /// Exit with 75 if it is another's turn
    #[arg(long, conflicts_with = "wait")]
    fail: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Once {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        if self.command.first().is_none_or(|program| program.is_empty()) {
            return Err(Error::usage("the program after -- is empty; expected something like -- ./backup.sh"));
        }
        let config = asked.config()?;
        if let DatabaseUrl::Sqlite { memory: true, .. } = config.database.url {
            let help = "expected a database that all callers share, such as postgres:// or sqlite:FILE";
            return Err(Error::usage(format!("sqlite::memory: is this process's own: every call would run; {help}")));
        }
        telemetry::init_at("warn");
        match self.once(&config) {
            Err(error) if !error.is_usage() => {
                output::error(asked, &error);
                Ok(ExitCode::from(FAILED))
            }
            done => done,
        }
    }

    fn once(&self, config: &Config) -> Result<ExitCode> {
        // Nine tenths: a cron job that starts a little earlier than the day before must not find itself too early.
        let turn = Turn::new(config, &self.name, self.every * 9 / 10);
        let Some(taken) = self.take(&turn)? else {
            return Ok(ExitCode::from(if self.fail { SKIPPED } else { 0 }));
        };
        if *config == Config::default() && std::env::var_os("DATABASE_URL").is_none() {
            output::note(
                "note: neither soloist.toml nor DATABASE_URL is here: soloist.db decides, for this host alone",
            );
        }
        let mut keeper = Keeper::start(turn, taken);
        let hidden = node::hidden(config);
        match program::run(&self.command, &hidden, &mut keeper)? {
            Ended::Exited(status) => {
                keeper.finish();
                Ok(code_of(status))
            }
            Ended::NotStarted(error) => {
                keeper.finish();
                self.not_started(&error)
            }
            Ended::LeaseLost(why) => {
                Err(Error::transient(format!("the lease of “{}” {why}; its program was ended", self.name)))
            }
        }
    }

    /// Takes the turn; `None` if it is another's. With `--wait` it is waited for.
    fn take(&self, turn: &Turn) -> Result<Option<Taken>> {
        let mut told = false;
        loop {
            let pause = match turn.take() {
                Ok(Ok(taken)) => return Ok(Some(taken)),
                Ok(Err(standing)) => {
                    if !told {
                        let word = if self.wait { "waiting" } else { "skipped" };
                        output::note(format!("{word}: {}", self.why(&standing, turn.rest)));
                        told = true;
                    }
                    if !self.wait {
                        return Ok(None);
                    }
                    pause(&standing, turn.rest)
                }
                Err(error) if self.wait && error.is_transient() => {
                    output::note(format!("waiting: {error}"));
                    AFTER_A_FAULT
                }
                Err(error) => return Err(error),
            };
            std::thread::sleep(pause);
        }
    }

    fn why(&self, standing: &Standing, rest: Duration) -> String {
        let name = &self.name;
        let by = standing.holder.as_deref().unwrap_or("another host");
        let age = span_text(standing.age());
        if standing.is_held() {
            return format!("“{name}” has been running for {age}, on {by}");
        }
        let free_in = span_text(standing.free_in(rest));
        format!("“{name}” was last started {age} ago, on {by}; it may run again in {free_in}")
    }

    fn not_started(&self, error: &io::Error) -> Result<ExitCode> {
        let program = self.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
        let message = format!("the program {program:?} cannot be started: {error}");
        let code = match error.kind() {
            ErrorKind::NotFound => NOT_FOUND,
            // No process could be made: that is not the program's fault.
            ErrorKind::WouldBlock | ErrorKind::OutOfMemory => return Err(Error::transient(message)),
            _ => NOT_EXECUTABLE,
        };
        output::note(format!("error: {message}"));
        Ok(ExitCode::from(code))
    }
}

fn code_of(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}

/// Until the next look. By chance: many hosts wait, and need not all look at once.
fn pause(standing: &Standing, rest: Duration) -> Duration {
    let look = LOOK.mul_f64(0.8 + 0.4 * fastrand::f64());
    if standing.is_held() {
        return look;
    }
    let free_in = Duration::from_micros(standing.free_in(rest).unsigned_abs());
    (free_in + look / 20).min(LOOK_AT_LAST)
}

fn name(text: &str) -> Result<String, String> {
    check_name("--name", text).map(|()| text.to_owned()).map_err(|wrong| wrong.message)
}

fn interval(text: &str) -> Result<Duration, String> {
    let span = duration::parse(text).map_err(|wrong| format!("it {wrong}; {}", duration::FORM))?;
    if span < SHORTEST {
        return Err(format!("it is too short; the shortest is {}", duration::format(SHORTEST)));
    }
    if span > LONGEST {
        return Err(format!("it is too long; the longest is {}d", LONGEST.as_secs() / 86_400));
    }
    Ok(span)
}
