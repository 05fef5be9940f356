//! Reads what a task calls: exactly one of `http`, `command`, `sql`, `pull`.

use super::{Purpose, secrets};
use crate::config::walk::{Item, Section};
use crate::config::{HandlerKind, Secret, WebHook};

const KINDS: [&str; 4] = ["http", "command", "sql", "pull"];

const HTTP_KEYS: &[&str] = &["url", "token_env", "token_file", "secret_env", "secret_file", "headers"];

/// Headers that Soloist or the protocol sets.
const SET: [&str; 8] = [
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "traceparent",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
];

pub(super) fn read(section: &Section, purpose: Purpose) -> Option<HandlerKind> {
    let mut given = KINDS.iter().filter_map(|kind| section.get(kind));
    let Some(first) = given.next() else {
        section.lacks("the task has no handler", "write exactly one of http, command, sql, pull");
        return None;
    };
    if let Some(second) = given.next() {
        let message = format!("the task has two handlers, “{}” and “{}”", first.key, second.key);
        second.wrong_key(message, "exactly one of http, command, sql, pull: make two tasks of it");
        return None;
    }
    match first.key.as_str() {
        "http" => web_hook(&first, purpose).map(HandlerKind::Http),
        "command" => first.texts("[\"python3\", \"thumb.py\"]").map(HandlerKind::Command),
        "sql" => first.filled().map(HandlerKind::Sql),
        _ => match first.truth()? {
            true => Some(HandlerKind::Pull),
            false => {
                first.wrong("false says nothing", "write pull = true, or another handler in its place");
                None
            }
        },
    }
}

fn web_hook(item: &Item, purpose: Purpose) -> Option<WebHook> {
    let section = item.table()?.closed("http", HTTP_KEYS);
    let headers = section.get("headers").map_or(Some(Vec::new()), |item| headers(&item, &section));
    let needed = purpose >= Purpose::Work;
    let token = secrets::read(&section, "token_env", "token_file", "the token", needed)
        .and_then(|token| secrets::for_header(&section, "token_env", "token_file", "the token", token));
    let secrets = secrets::read(&section, "secret_env", "secret_file", "the signature", needed);
    let keys: Vec<Secret> = secrets.iter().flat_map(|text| text.split_whitespace()).map(Secret::new).collect();
    if let (Some(text), Some(item)) = (&secrets, section.get("secret_env").or_else(|| section.get("secret_file"))) {
        check_keys(text, &item);
    }
    let Some(url) = section.get("url") else {
        section.lacks("there is no “url”", "such as url = \"http://127.0.0.1:8000/internal/thumbnail\"");
        return None;
    };
    Some(WebHook { url: address(&url)?, token: token.map(Secret::new), secrets: keys, headers: headers? })
}

/// Keys are as the Standard Webhooks specification writes them, or any other text.
fn check_keys(text: &str, item: &Item) {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    let broken = |key: &str| {
        key.strip_prefix("whsec_")
            .is_some_and(|code| engine.decode(code.trim_end_matches('=')).map_or(true, |k| k.is_empty()))
    };
    if text.split_whitespace().any(broken) {
        let help = "after “whsec_” stands base64, as the receiver has it";
        item.wrong("the secret of the signature begins with “whsec_” and goes on with what is not base64", help);
    }
}

fn address(item: &Item) -> Option<url::Url> {
    let text = item.text()?;
    let help = "such as \"http://127.0.0.1:8000/internal/thumbnail\"";
    let url = match url::Url::parse(text.text.trim()) {
        Ok(url) => url,
        Err(error) => {
            item.wrong(format!("{} is not a URL: {error}", text.shown()), help);
            return None;
        }
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        item.wrong(format!("{} is not an http or https URL", text.shown()), help);
        return None;
    }
    if !url.username().is_empty() || url.password().is_some() {
        item.wrong("the URL holds a user or a password", "take it out; a token comes from token_env or token_file");
        return None;
    }
    Some(url)
}

fn headers(item: &Item, section: &Section) -> Option<Vec<(String, String)>> {
    let table = item.table()?;
    let mut headers = Vec::new();
    let mut whole = true;
    for header in table.items() {
        header.walk.hide(header.span.clone());
        let name = header.key.to_ascii_lowercase();
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        let has_token = section.has("token_env") || section.has("token_file");
        if !is_name {
            header.wrong_key("is not the name of a header", "letters, digits and hyphens, such as X-Team");
        } else if SET.contains(&name.as_str()) {
            header.wrong_key("is a header that Soloist sets itself", "take it out");
        } else if name == "authorization" && has_token {
            header.wrong_key("is set twice: by this and by the token", "take one of them out");
        } else if let Some(value) = header.text() {
            if value.text.chars().all(|c| c == '\t' || (' '..='~').contains(&c)) {
                headers.push((header.key.clone(), value.text));
                continue;
            }
            header.wrong("holds what a header cannot carry", "letters, digits and signs of ASCII, in one line");
        }
        whole = false;
    }
    whole.then_some(headers)
}
