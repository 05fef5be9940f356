//! Every dependency's licence, on every platform and with every feature, is one that the project may be shipped with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;

const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PostgreSQL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

#[test]
fn every_dependency_may_be_shipped() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "run `cargo fetch --locked` first, for all platforms' packages:\n{told}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    assert!(packages.len() > 100, "only {} packages were listed", packages.len());
    let refused: Vec<_> = packages
        .iter()
        .map(|package| (&package["name"], package["license"].as_str().unwrap_or("no licence is declared")))
        .filter(|(_, licence)| !is_allowed(licence))
        .map(|(name, licence)| format!("{name}: {licence}"))
        .collect();
    assert!(refused.is_empty(), "these licences are not on the list in tests/licences.rs:\n{}", refused.join("\n"));
}

#[test]
fn expressions_are_read_as_spdx_says() {
    for allowed in
        ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-2.0", "(GPL-2.0 OR ISC) AND Zlib", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-2.0", "MIT AND (GPL-2.0)", "", "MIT OR", "(MIT"]
    {
        assert!(!is_allowed(refused), "{refused}");
    }
}

/// Reads an SPDX expression, in which AND binds more than OR and old crates write `/` for OR.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest) == Some(true) && rest.is_empty()
}

fn any(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = all(words)?;
    while skip(words, "OR") {
        allowed |= all(words)?;
    }
    Some(allowed)
}

fn all(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(words)?;
    while skip(words, "AND") {
        allowed &= one(words)?;
    }
    Some(allowed)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    if skip(words, "(") {
        let allowed = any(words)?;
        return skip(words, ")").then_some(allowed);
    }
    let (first, rest) = words.split_first()?;
    *words = rest;
    let mut licence = (*first).to_owned();
    if skip(words, "WITH") {
        let (exception, rest) = words.split_first()?;
        *words = rest;
        licence = format!("{licence} WITH {exception}");
    }
    Some(ALLOWED.contains(&licence.as_str()))
}

fn skip(words: &mut &[&str], word: &str) -> bool {
    let found = words.first() == Some(&word);
    if found {
        *words = &words[1..];
    }
    found
}
