//! Secrets: missing ones are errors, and none is ever shown.

use std::path::Path;

use super::super::Purpose;
use super::{read, read_for, said};
use crate::config::{Config, Environment, HandlerKind};

const TOKEN: &str = "[[http.tokens]]\nname = \"cron\"\nrole = \"admin\"\nenv = \"X\"\n";
const HOOK: &str = "[tasks.t]\nhttp = { url = \"http://h/\", token_env = \"X\", secret_env = \"Y\" }\n";

#[test]
fn a_token_without_a_secret_refuses_to_start() {
    let unset: &[(&str, &str)] = &[];
    for (variables, reason) in [
        (unset, "is missing: the environment variable X is not set"),
        (&[("X", "")], "is empty: the environment variable X"),
        (&[("X", " \t\n")], "is blank: the environment variable X"),
        (&[("X", "undefined")], "says that there is none"),
        (&[("X", "two words")], "holds a blank"),
    ] {
        let said = said(TOKEN, variables);
        assert_eq!(said.len(), 1, "{said:#?}");
        assert!(said[0].starts_with("4:7 http.tokens[0].env | ") && said[0].contains("token “cron”"), "{said:#?}");
        assert!(said[0].contains(reason), "{said:#?}");
    }
    assert!(read(TOKEN, &[("X", "s3cret")]).is_ok());
}

#[test]
fn a_token_needs_its_keys() {
    for (text, place, part) in [
        ("[[http.tokens]]\nrole = \"admin\"\nenv = \"X\"", "1:1 http.tokens[0]", "has no name"),
        ("[[http.tokens]]\nname = \"a\"\nenv = \"X\"", "1:1 http.tokens[0]", "has no role"),
        ("[[http.tokens]]\nname = \"a\"\nrole = \"admin\"", "1:1 http.tokens[0]", "token “a” has no secret"),
        ("[[http.tokens]]\nname = \"a\"\nrole = \"root\"\nenv = \"X\"", "3:8 http.tokens[0].role", "“root”"),
        (
            "[[http.tokens]]\nname = \"a\"\nrole = \"admin\"\nenv = \"X\"\nfile = \"f\"",
            "5:1 http.tokens[0].file",
            "“env” and “file”",
        ),
        (
            "[[http.tokens]]\nname = \"a\"\nrole = \"admin\"\ntoken = \"hunter2\"\nenv = \"X\"",
            "4:1 http.tokens[0].token",
            "unknown key",
        ),
    ] {
        let said = said(text, &[("X", "x")]);
        assert_eq!(said.len(), 1, "{said:#?}");
        assert!(said[0].contains(part) && !said[0].contains("hunter2"), "{said:#?}");
        assert_eq!(said[0].split(" | ").next(), Some(place), "{said:#?}");
    }
}

#[test]
fn two_tokens_of_one_name_serve_a_rotation_and_two_of_one_secret_do_not() {
    let two = |first: &str, second: &str| {
        format!("{TOKEN}[[http.tokens]]\nname = \"{first}\"\nrole = \"{second}\"\nenv = \"Z\"\n")
    };
    assert!(read(&two("cron", "admin"), &[("X", "x"), ("Z", "z")]).is_ok());
    let said = said(&two("other", "read"), &[("X", "hunter2"), ("Z", "hunter2")]);
    assert!(said[0].contains("token “other” has the same secret as token “cron”"), "{said:#?}");
    assert!(!said[0].contains("hunter2"));
}

#[test]
fn a_command_that_runs_no_handler_needs_no_secrets() {
    let text = format!("{TOKEN}{HOOK}");
    assert_eq!(said(&text, &[]).len(), 3);
    assert_eq!(read_for(&text, &[], Purpose::Work).unwrap_err().count(), 2);
    let config = read_for(&text, &[], Purpose::Ask).unwrap();
    assert!(config.http.tokens.is_empty());
    let HandlerKind::Http(hook) = &config.tasks["t"].handler else { panic!("{:?}", config.tasks) };
    assert!(hook.token.is_none() && hook.secrets.is_empty());
}

#[test]
fn a_signing_secret_is_what_it_says() {
    assert!(read(HOOK, &[("X", "x"), ("Y", "whsec_AAA= whsec_AAA plain")]).is_ok());
    let said = said(HOOK, &[("X", "x"), ("Y", "whsec_%%%")]);
    assert!(said.len() == 1 && said[0].contains("not base64") && !said[0].contains("%%%"), "{said:#?}");
}

#[test]
fn secrets_come_from_files_beside_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("soloist.toml");
    let text = TOKEN.replace("env = \"X\"", "file = \"cron.token\"");
    std::fs::write(&file, &text).unwrap();
    let load = || Config::load_with(Some(&file), Purpose::Serve, &Environment::of([]));
    let error = load().unwrap_err().to_string();
    assert!(error.contains("token “cron”") && error.contains("no such file or directory"), "{error}");
    std::fs::write(directory.path().join("cron.token"), "\n").unwrap();
    assert!(load().unwrap_err().to_string().contains("is blank"));
    std::fs::write(directory.path().join("cron.token"), "s3cret\n").unwrap();
    assert_eq!(load().unwrap().http.tokens[0].secret.expose(), "s3cret");
}

#[test]
fn a_file_that_is_named_must_be_there_and_readable() {
    let load = |path: &Path| Config::load_with(Some(path), Purpose::Ask, &Environment::of([])).unwrap_err().to_string();
    let directory = tempfile::tempdir().unwrap();
    assert!(load(&directory.path().join("none.toml")).contains("cannot be read: no such file or directory"));
    assert!(load(directory.path()).contains("cannot be read"));
    let broken = directory.path().join("broken.toml");
    std::fs::write(&broken, b"a = 1\n\xff").unwrap();
    assert!(load(&broken).contains("not UTF-8 (line 2)"));
}

#[test]
fn nothing_secret_is_shown_whatever_is_wrong() {
    const VARIABLES: [(&str, &str); 2] = [("PW", "hunter2"), ("URL", "postgre://app:hunter2@db/app")];
    for text in [
        "[database]\nurl = \"postgre://app:hunter2@db/app\"",
        "[database]\nurl = \"postgres://app:hun'hunter2 x@db/app?sslmode=no\"",
        "[database]\nurl = \"mysql://app:${PW}#@db/app\"",
        "[database]\nurl = \"${URL}\"",
        "[database]\nurl = \"postgres://db/app?password=hunter2&colour=1\"",
        "[database]\nurl = \"postgres://app:hunter2@db/app",
        "[database]\nur = \"postgres://app:hunter2@db/app\"",
        "[node]\nlease = \"${PW}\"",
        "[node]\nlease = 5 # ${PW}\nname = \"${PW}\"\nroles = [\"${PW}\"]",
        "[http]\nbind = \"${PW}\"\nprefix = \"${PW}\"",
        "[[http.tokens]]\nname = \"a\"\nrole = \"${PW}\"\nenv = \"PW\"",
        "[[http.tokens]]\nname = \"a\"\nrole = \"read\"\nenv = \"hunter2!\"",
        "[[http.tokens]]\nname = \"a\"\nrole = \"read\"\nsecret = \"hunter2\"",
        "[tasks.t]\nhttp = { url = \"http://u:hunter2@h/\", headers = { X = \"hunter2\" } }",
        "[tasks.t]\nhttp = { ul = \"http://h/\", headers = { X = \"hunter2\" } }",
        "[tasks.t]\nhttp = { url = \"${PW}\", token_env = \"NONE\", headers = { X = '''hunter2''' } }",
        "[tasks.t]\npull = true\nrate = \"${PW}\"\nconcurrency = \"${PW}\"\nbackoff = { factor = \"${PW}\" }",
        "[tasks.t]\npull = true\n[schedules.s]\ntask = \"${PW}\"\nevery = \"${PW}\"\ntimezone = \"${PW}\"",
        "[tasks.t]\npull = true\n[schedules.s]\ntask = \"t\"\nat = \"${PW}\"",
        "[tasks.t]\npull = true\n[schedules.s]\ntask = \"t\"\ncron = \"${PW}\"",
    ] {
        let errors = read(text, &VARIABLES).expect_err(text);
        let all = format!("{errors} {errors:?} {}", errors.render(true, "x"));
        assert!(!all.contains("hunter2"), "{text}\n{all}");
    }
}
