//! `[http]`: where the admin API listens and whom it lets in.

use std::net::{Ipv4Addr, SocketAddr};

use super::Secret;

/// `[http]`
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// Where to listen.
    pub bind: SocketAddr,
    /// The path under which a proxy shows it: empty, or `/…` without a slash at its end.
    pub prefix: String,
    /// From which role on payloads are seen.
    pub show_payload: ShowPayload,
    /// Who may come in. Empty: loopback only, and a token is made for the run.
    pub tokens: Vec<Token>,
    /// True if `/scheduler…` answers as Flask-APScheduler does.
    pub flask_apscheduler: bool,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)),
            prefix: String::new(),
            show_payload: ShowPayload::default(),
            tokens: Vec::new(),
            flask_apscheduler: false,
        }
    }
}

/// `show_payload = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShowPayload {
    /// Everybody with a token.
    #[default]
    Read,
    /// Admins only.
    Admin,
}

/// One of `[[http.tokens]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Who it is for; two of one name serve a rotation.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Never empty or blank.
    pub secret: Secret,
}

/// What a token may do; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sees.
    Read,
    /// Also enqueues, triggers and fires.
    Trigger,
    /// Does all.
    Admin,
}

impl Role {
    /// As the configuration has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Trigger => "trigger",
            Self::Admin => "admin",
        }
    }
}
