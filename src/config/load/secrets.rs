//! Reads secrets from `…_env` and `…_file`. A secret that is missing, empty or blank is an error, whoever asks for it:
//! nothing is ever open because a variable was not set.

use std::io::Read as _;
use std::path::Path;

use crate::config::environment::is_name;
use crate::config::walk::{Item, Section};

/// Largest secret that is read.
const LARGEST: u64 = 64 << 10;

/// Words that programs write where they had nothing.
const NOTHING: [&str; 4] = ["undefined", "null", "nil", "none"];

/// The secret that `env` or `file` names, without blanks around it. `None` if neither is there, after an error, or if it is not
/// there and not `needed`.
pub(super) fn read(section: &Section, env: &str, file: &str, owner: &str, needed: bool) -> Option<String> {
    let (text, item, place) = match (section.get(env), section.get(file)) {
        (None, None) => return None,
        (Some(_), Some(item)) => {
            item.wrong_key(format!("{owner} has “{env}” and “{file}”"), "one of them is enough: take the other out");
            return None;
        }
        (Some(item), None) => {
            let (text, place) = from_variable(section, &item, owner, needed)?;
            (text, item, place)
        }
        (None, Some(item)) => {
            let (text, place) = from_file(section, &item, owner, needed)?;
            (text, item, place)
        }
    };
    let secret = text.trim();
    if secret.is_empty() || NOTHING.contains(&secret.to_ascii_lowercase().as_str()) {
        if needed {
            let state = match (text.is_empty(), secret.is_empty()) {
                (true, _) => "is empty",
                (_, true) => "is blank",
                _ => "says that there is none",
            };
            item.wrong(format!("the secret of {owner} {state}: {place}"), "put the secret there");
        }
        return None;
    }
    Some(secret.to_owned())
}

fn from_variable(section: &Section, item: &Item, owner: &str, needed: bool) -> Option<(String, String)> {
    let name = item.filled()?;
    if !is_name(&name) {
        section.walk.hide(item.span.start + 1..item.span.end.saturating_sub(1));
        let help = "write the name of a variable, such as \"SOLOIST_TOKEN\", never the secret itself";
        item.wrong(format!("{owner}: this is not the name of an environment variable"), help);
        return None;
    }
    let place = format!("the environment variable {name}");
    match section.walk.environment.get(&name) {
        Ok(Some(text)) => {
            section.walk.secret_variables.borrow_mut().insert(name);
            Some((text, place))
        }
        Ok(None) => {
            if needed {
                let help = format!("set {name} before the start; without it {owner} cannot be used");
                item.wrong(format!("the secret of {owner} is missing: {place} is not set"), help);
            }
            None
        }
        Err(why) => {
            item.wrong(format!("the secret of {owner} cannot be read: {}", why.message), why.help);
            None
        }
    }
}

fn from_file(section: &Section, item: &Item, owner: &str, needed: bool) -> Option<(String, String)> {
    let name = item.filled()?;
    let path = section.walk.directory.join(Path::new(&name));
    // The name may hold what came out of the environment: it is not shown.
    match contents(&path) {
        Ok(text) => Some((text, "the file that is named here".to_owned())),
        Err(why) => {
            if needed {
                let help =
                    "a file that this user may read, looked for beside the configuration if its path is relative";
                item.wrong(format!("the secret of {owner} is missing: the file cannot be read: {why}"), help);
            }
            None
        }
    }
}

fn contents(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| reason(&error))?;
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| reason(&error))?;
    if text.len() as u64 > LARGEST { Err("it is larger than 64 KiB".to_owned()) } else { Ok(text) }
}

/// Why a file cannot be read, in the words of the system and without its number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The secret, if a header `Authorization: Bearer` can carry it.
pub(super) fn for_header(section: &Section, env: &str, file: &str, owner: &str, secret: String) -> Option<String> {
    if secret.chars().all(|c| c.is_ascii_graphic()) {
        return Some(secret);
    }
    if let Some(item) = section.get(env).or_else(|| section.get(file)) {
        let message = format!("the secret of {owner} holds a blank, a control character or a letter outside ASCII");
        item.wrong(message, "a header “Authorization: Bearer” cannot carry it: make another");
    }
    None
}
