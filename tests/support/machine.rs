//! What the machine and the run offer: sizes, ports, programs.

use std::{
    env,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

/// True under CI, where nothing may be left out.
pub fn ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// True if the run asks for the full numbers (`tests/run --full`).
pub fn full() -> bool {
    env::var_os("SOLOIST_TEST_FULL").is_some_and(|value| value == "1")
}

/// The first number in a quick run, the second in a full one.
pub fn numbers<T>(quick: T, in_full: T) -> T {
    if full() { in_full } else { quick }
}

/// A TCP port of the loopback address that was free just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port of 127.0.0.1");
    listener.local_addr().expect("the address just bound").port()
}

/// The binary under test.
pub fn soloist() -> Command {
    Command::new(binary())
}

fn binary() -> PathBuf {
    if let Some(path) = ["CARGO_BIN_EXE_soloist", "NEXTEST_BIN_EXE_soloist"].iter().find_map(env::var_os) {
        return path.into();
    }
    let test = env::current_exe().expect("the path of this test");
    let beside = test.ancestors().nth(2).expect("target/debug/deps above this test").join("soloist");
    assert!(
        beside.is_file(),
        "the binary under test is not at {}: run `cargo build --features testing`",
        beside.display()
    );
    beside
}

/// The Python with the packages of tests/requirements.txt, or nothing after saying why.
pub fn python() -> Option<Command> {
    match env::var_os("SOLOIST_TEST_PYTHON") {
        Some(path) => Some(Command::new(path)),
        None => left_out("Python packages", "SOLOIST_TEST_PYTHON is not set: tests/run sets it"),
    }
}

/// What to set in a process's environment so that its clock is off by `offset` (`"+90s"`, `"-2h"`), or nothing after
/// saying why. Monotonic clocks run on as they are.
pub fn faketime(offset: &str) -> Option<[(&'static str, String); 4]> {
    let library = env::var("SOLOIST_TEST_FAKETIME").ok().or_else(|| {
        let places = std::fs::read_dir("/usr/lib").ok()?;
        let mut found = places.flatten().map(|place| place.path().join("faketime/libfaketime.so.1"));
        found.find(|path| Path::is_file(path)).map(|path| path.display().to_string())
    });
    let Some(library) = library else { return left_out("clock skew", "libfaketime is not installed") };
    Some([
        ("LD_PRELOAD", library),
        ("FAKETIME", offset.to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
    ])
}

/// Says that something is left out and why; under CI that is a failure.
#[track_caller]
pub(crate) fn left_out<T>(what: &str, reason: &str) -> Option<T> {
    assert!(!ci(), "{what} is absent, and nothing may be left out under CI: {reason}");
    println!("left out: {what}: {reason}");
    None
}
