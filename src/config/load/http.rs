//! Reads `[http]` and its tokens.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Purpose, node, secrets};
use crate::config::walk::{Item, Section};
use crate::config::{Http, Node, NodeRole, Role, Secret, ShowPayload, Token};

pub(super) const KEYS: &[&str] = &["bind", "prefix", "show_payload", "tokens", "flask_apscheduler"];

const TOKEN_KEYS: &[&str] = &["name", "role", "env", "file"];

const ROLES: [(&str, Role); 3] = [("read", Role::Read), ("trigger", Role::Trigger), ("admin", Role::Admin)];

pub(super) fn read(given: &Section, of: &Node, purpose: Purpose) -> Http {
    let section = given.clone().closed("[http]", KEYS);
    let default = Http::default();
    let http = Http {
        bind: section.get("bind").and_then(|item| bind(&item)).unwrap_or(default.bind),
        prefix: section.get("prefix").and_then(|item| prefix(&item)).unwrap_or_default(),
        show_payload: section
            .get("show_payload")
            .and_then(|item| item.choice(&[("read", ShowPayload::Read), ("admin", ShowPayload::Admin)]))
            .unwrap_or_default(),
        tokens: section.get("tokens").map(|item| tokens(&item, purpose)).unwrap_or_default(),
        flask_apscheduler: section.get("flask_apscheduler").and_then(|item| item.truth()).unwrap_or_default(),
    };
    let declared = section.get("tokens").and_then(|item| item.array()).is_some_and(|tokens| !tokens.is_empty());
    if !http.bind.ip().is_loopback()
        && !declared
        && of.has(NodeRole::Http)
        && let Some(item) = section.get("bind")
    {
        item.wrong(
            "without a token Soloist listens on loopback only, and this address is open to others",
            "add a [[http.tokens]] with name, role and env, or write bind = \"127.0.0.1:7070\"",
        );
    }
    http
}

fn bind(item: &Item) -> Option<SocketAddr> {
    let text = item.text()?;
    let typed = text.text.trim();
    let local = typed.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let address = local.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).or_else(|| typed.parse().ok());
    if address.is_none() {
        let help = "such as \"127.0.0.1:7070\", \"0.0.0.0:7070\" for every address of this host, or \"[::1]:7070\"";
        item.wrong(format!("{} is not an IP address with a port", text.shown()), help);
    }
    address
}

fn prefix(item: &Item) -> Option<String> {
    let text = item.text()?;
    let path = text.text.as_str();
    let plain = |part: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        !part.is_empty() && part != "." && part != ".." && part.chars().all(known)
    };
    if path.is_empty() || path.strip_prefix('/').is_some_and(|parts| parts.split('/').all(plain)) {
        return Some(path.to_owned());
    }
    let help = "empty, or a path with a slash at its beginning and none at its end, such as \"/soloist\"";
    item.wrong(format!("{} is not such a path", text.shown()), help);
    None
}

fn tokens(item: &Item, purpose: Purpose) -> Vec<Token> {
    let Some(items) = item.array() else {
        item.wrong(
            format!("is an array of tables, not {}", item.described()),
            "write [[http.tokens]], in two brackets",
        );
        return Vec::new();
    };
    let mut tokens: Vec<Token> = Vec::new();
    for item in items {
        let Some(token) = token(&item, purpose) else {
            continue;
        };
        let differs = |other: &&Token| other.name != token.name || other.role != token.role;
        if let Some(other) = tokens.iter().filter(|other| other.secret == token.secret).find(differs) {
            let message = format!("token “{}” has the same secret as token “{}”", token.name, other.name);
            item.wrong(message, "give each token a secret of its own");
        }
        tokens.push(token);
    }
    tokens
}

fn token(item: &Item, purpose: Purpose) -> Option<Token> {
    let section = item.table()?.closed("[[http.tokens]]", TOKEN_KEYS);
    let name = match section.get("name") {
        Some(item) => node::label(&item),
        None => {
            section.lacks("the token has no name", "give it one: name = \"cron\"");
            None
        }
    };
    let role = match section.get("role") {
        Some(item) => item.choice(&ROLES),
        None => {
            section.lacks("the token has no role", "give it one: role = \"read\", \"trigger\" or \"admin\"");
            None
        }
    };
    let owner = format!("token “{}”", name.as_deref().unwrap_or("?"));
    if !section.has("env") && !section.has("file") {
        section
            .lacks(&format!("{owner} has no secret"), "name where it is: env = \"SOLOIST_CRON_TOKEN\" or file = \"…\"");
    }
    let secret = secrets::read(&section, "env", "file", &owner, purpose == Purpose::Serve)?;
    let secret = secrets::for_header(&section, "env", "file", &owner, secret)?;
    Some(Token { name: name?, role: role?, secret: Secret::new(secret) })
}
