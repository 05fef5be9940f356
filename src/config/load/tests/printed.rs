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
