//! The printed form.

use super::read;

#[test]
fn errors_are_printed_as_a_compiler_does() {
    let text =
        "[tasks.thumbnail]\npull = true\n\n\n\n\n\n\n\n\n\n\n\nconcurency = 8\n[node]\n\tlease = \"0s\"  # grün\n";
    let expected = "\
error: unknown key “concurency” in [tasks.thumbnail]
  --> soloist.toml:14:1
14 | concurency = 8
   | ^^^^^^^^^^
   = help: the nearest key of [tasks.*] is “concurrency”
error: node.lease: “0s” is too short
  --> soloist.toml:16:10
16 |  lease = \"0s\"  # grün
   |          ^^^^
   = help: the shortest is 1s
2 errors; nothing was started.";
    assert_eq!(read(text, &[]).unwrap_err().to_string(), expected);
}

#[test]
fn carets_stand_under_what_is_meant_where_secrets_are_cut() {
    let text = "[tasks.t]\nhttp = { headers = { A = \"hunter2\" }, ul = \"http://grün/\" }\n";
    let printed = read(text, &[]).unwrap_err().to_string();
    let expected = "\
  --> soloist.toml:2:39
 2 | http = { headers = { A = … }, ul = \"http://grün/\" }
   |                               ^^
";
    assert!(printed.contains(expected), "{printed}");
}

#[test]
fn colours_come_only_when_asked_for_and_the_effect_is_the_callers() {
    let errors = read("[node]\nlease = 5\n", &[]).unwrap_err();
    assert!(!errors.render(false, "x").contains('\x1b'));
    let coloured = errors.render(true, "the old configuration goes on");
    assert!(coloured.starts_with("\x1b[1;31merror\x1b[0m"));
    assert!(coloured.ends_with("1 error; the old configuration goes on."), "{coloured}");
}

#[test]
fn a_long_line_is_cut_around_what_is_meant_and_control_characters_stay_out() {
    let text = format!("[node]\nx = [{}\"a\", ] # \u{7f}\n", "\"bbbbbbbb\", ".repeat(400));
    let printed = read(&text, &[]).unwrap_err().to_string();
    assert!(printed.lines().all(|line| line.chars().count() < 200), "{printed}");
    assert!(!printed.contains('\u{7f}'));
    let text = format!("[node]\nroles = [{}\"zzz\"]\n", " ".repeat(4000));
    let printed = read(&text, &[]).unwrap_err().to_string();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[2].find("\"zzz\""), lines[3].find("^^^^^"), "{printed}");
}

#[test]
fn no_file_makes_it_panic() {
    let pieces = [
        "[",
        "]",
        "=",
        "\"",
        "'",
        "${",
        "}",
        "{",
        "tasks",
        "node",
        ".",
        "\n",
        "lease",
        "5",
        "#",
        "ü",
        "\0",
        "[[http.tokens]]",
        ",",
    ];
    let mut chance = fastrand::Rng::with_seed(7);
    for _ in 0..3000 {
        let text: String = (0..chance.usize(0..40)).map(|_| pieces[chance.usize(0..pieces.len())]).collect();
        if let Err(errors) = read(&text, &[]) {
            assert!(errors.count() > 0 && errors.to_string().contains("nothing was started."));
        }
    }
}

#[test]
fn programs_read_the_same() {
    let json = read("[node]\nlease = 5\n", &[]).unwrap_err().json();
    assert_eq!((&json[0]["line"], &json[0]["column"], &json[0]["key"]), (&2.into(), &9.into(), &"node.lease".into()));
    assert_eq!(json[0]["help"], "write it in quotes with a unit, such as lease = \"5s\"");
}

#[test]
fn line_ends_of_windows_and_a_mark_of_byte_order_move_nothing() {
    let printed = read("\u{feff}[node]\r\nlease = 5\r\nleas = 1\r\n", &[]).unwrap_err().to_string();
    assert!(printed.contains("soloist.toml:2:9\n 2 | lease = 5\n"), "{printed}");
    assert!(printed.contains("soloist.toml:3:1\n 3 | leas = 1\n"), "{printed}");
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let arrays = format!(
        "[tasks.t]\npull = true\n[schedules.s]\ntask = \"t\"\nevery = \"1h\"\npayload = {}",
        "[".repeat(100_000)
    );
    let keys = format!("{}x = 1", "a.".repeat(5_000));
    for text in [arrays, keys] {
        assert!(read(&text, &[]).unwrap_err().count() > 0);
    }
}
