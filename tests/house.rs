//! The house rules that a machine can check, over the files that git tracks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, process::Command};

const MOST_LINES: usize = 300;

/// Files under a path, of those tracked or about to be, with their text. Binary files are left out.
fn files(under: &str) -> Vec<(String, String)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let listed = Command::new("git")
        .args(["-C", root, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .args(["--", under])
        .output()
        .expect("git is installed");
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    let text = |name: &str| Some((name.to_owned(), fs::read_to_string(format!("{root}/{name}")).ok()?));
    let files: Vec<_> = names.split('\0').filter(|name| !name.is_empty()).filter_map(text).collect();
    assert!(!files.is_empty(), "there are files under {under}");
    files
}

fn sources() -> Vec<(String, String)> {
    let mut files = files("src");
    files.retain(|(name, _)| name.ends_with(".rs"));
    files
}

fn must_be_empty(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n{}", breaches.join("\n"));
}

#[test]
fn source_files_are_short() {
    let long = sources().into_iter().map(|(name, text)| (name, text.lines().count()));
    let long: Vec<_> = long.filter(|(_, lines)| *lines > MOST_LINES).map(|(n, l)| format!("{n}: {l} lines")).collect();
    must_be_empty(&format!("a source file has at most {MOST_LINES} lines"), &long);
}

#[test]
fn source_files_say_what_they_own() {
    let silent: Vec<_> = sources().into_iter().filter(|(_, text)| !text.starts_with("//!")).map(|(n, _)| n).collect();
    must_be_empty("a source file begins with //! and says what it owns", &silent);
}

#[test]
fn source_files_have_telling_names() {
    let vague = |name: &str| {
        let words = ["util", "utils", "common", "helper", "helpers", "manager", "mod"];
        name.trim_end_matches(".rs").split('/').any(|part| words.contains(&part))
    };
    let vague: Vec<_> = sources().into_iter().map(|(name, _)| name).filter(|name| vague(name)).collect();
    must_be_empty("no mod.rs, and no file or folder named util, common, helper or manager", &vague);
}

#[test]
fn only_the_store_writes_sql() {
    let marks = ["SELECT ", "INSERT INTO ", "UPDATE soloist_", "DELETE FROM ", "CREATE TABLE ", "ALTER TABLE "];
    let mut found = Vec::new();
    let of_tests = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    for (name, text) in sources().into_iter().filter(|(name, _)| !name.starts_with("src/store") && !of_tests(name)) {
        for (index, line) in text.lines().enumerate().take_while(|(_, line)| line.trim() != "mod tests {") {
            let comment = line.trim_start().starts_with("//");
            if !comment && marks.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    must_be_empty("SQL is written under src/store alone", &found);
}

#[test]
fn no_machine_and_no_registry_is_named() {
    // Put together here, so that this file does not name them.
    let folders = ["/work", "/root", "/home"].map(|folder| format!("{folder}/"));
    let hosts = [("crates", "io"), ("pypi", "org"), ("npmjs", "org"), ("pythonhosted", "org"), ("deb.debian", "org")];
    let hosts = hosts.map(|(name, domain)| format!("{name}.{domain}"));
    let mut found = Vec::new();
    for (name, text) in files(".").into_iter().filter(|(name, _)| !name.ends_with("Cargo.lock")) {
        for (index, line) in text.lines().enumerate() {
            let names_folder = folders.iter().any(|folder| {
                line.match_indices(folder.as_str()).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric()))
            });
            if names_folder || hosts.iter().any(|host| line.contains(host.as_str())) {
                found.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    must_be_empty("no path of one machine and no package registry is named", &found);
}

#[test]
fn layers_look_down_only() {
    // From the lowest up; each may name itself and what stands before it.
    const LAYERS: [&[&str]; 7] = [
        &["model"],
        &["trigger"],
        &["config"],
        &["firing", "apscheduler"],
        &["store"],
        &["handler", "actor"],
        &["node", "http", "serve", "work", "cli"],
    ];
    let mut found = Vec::new();
    for (height, layer) in LAYERS.iter().enumerate() {
        let above: Vec<_> = LAYERS[height + 1..].iter().flat_map(|names| names.iter()).collect();
        for (name, text) in sources() {
            let of_layer =
                layer.iter().any(|part| name == format!("src/{part}.rs") || name.starts_with(&format!("src/{part}/")));
            for upper in above.iter().filter(|_| of_layer) {
                if text.contains(&format!("crate::{upper}::")) {
                    found.push(format!("{name} names crate::{upper}"));
                }
            }
        }
    }
    must_be_empty("a layer names only those below it", &found);
}
