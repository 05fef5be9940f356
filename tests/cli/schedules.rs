//! `soloist schedules`: made, looked at, steered, and what is refused.

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::{living_node, migrated, run, run_with};

on_every_backend!(
    a_schedule_is_added_and_steered,
    a_wrong_schedule_is_refused_and_nothing_kept,
    it_is_said_why_a_time_did_not_fire,
    a_schedule_is_changed,
    all_schedules_are_paused_at_once,
);

fn schedules(database: &TestDatabase, arguments: &[&str]) -> super::Said {
    run(database, &[&["schedules"], arguments].concat())
}

fn json(database: &TestDatabase, arguments: &[&str]) -> Value {
    let said = schedules(database, &[arguments, &["--json"]].concat());
    assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
    said.json()
}

fn a_schedule_is_added_and_steered(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    assert_eq!(schedules(database, &["list"]).ok(), "There is no schedule.\n");
    let cron = ["add", "nightly", "--task", "mail", "--cron", "30 2 * * *", "--timezone", "europe/berlin"];
    let said = schedules(database, &[&cron[..], &["--payload", r#"{"n": 1.50}"#]].concat()).ok();
    assert!(said.starts_with("nightly fires mail at 02:30 every day (Europe/Berlin); next at 20"), "{said}");
    let every = ["add", "often", "--task", "thumbnail", "--every", "90s", "--start", "2020-01-01T00:00:00Z"];
    let policies = ["--jitter", "5s", "--misfire", "all", "--misfire-grace", "1d", "--overlap", "queue"];
    let made = json(database, &[&every[..], &policies].concat());
    assert_eq!((&made["every"], &made["origin"], &made["misfire"]), (&json!("90s"), &json!("cli"), &json!("all")));
    assert_eq!(
        (&made["jitter"], &made["misfire_grace"], &made["overlap"]),
        (&json!("5s"), &json!("1d"), &json!("queue"))
    );
    let at =
        ["schedules", "add", "at", "--task", "mail", "--at", "2099-01-01T00:00:00+01:00", "--payload", "-", "--json"];
    let at = run_with(database, &at, "[1]\n").json();
    assert_eq!((&at["next_fire_at"], &at["payload"]), (&json!("2098-12-31T23:00:00Z"), &json!([1])));
    let again = schedules(database, &["add", "at", "--task", "mail", "--every", "1h"]);
    again.fails(1, "there is a schedule \"at\" already");

    let list = json(database, &["list"]);
    let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["at", "nightly", "often"]);
    let table = schedules(database, &["list"]).ok();
    assert!(table.starts_with("NAME     WHEN ") && table.contains("every 90 seconds"), "{table}");
    assert!(table.contains("mail       2098-12-31 23:00:00Z        fires"), "{table}");

    let paused = schedules(database, &["pause", "nightly", "--reason", "repairs"]).ok();
    assert_eq!(paused, "nightly is paused on all nodes; what it has made goes on.\n");
    let shown = schedules(database, &["show", "nightly"]).ok();
    assert!(shown.contains("\nstate          paused by ivo\n"), "{shown}");
    assert!(shown.contains("It is paused by ivo since ") && shown.contains(": \"repairs\"."), "{shown}");
    let id: i64 = schedules(database, &["fire", "nightly"]).ok().trim().parse().unwrap();
    let payload = database.value(&format!("SELECT payload FROM soloist_entries WHERE id = {id}"));
    assert_eq!(payload.as_deref(), Some(r#"{"n": 1.50}"#));
    let second = json(database, &["fire", "nightly"]);
    assert_eq!(second, json!({ "entries": [database.number("SELECT max(id) FROM soloist_entries")] }));
    assert!(schedules(database, &["resume", "nightly"]).ok().starts_with("nightly fires again, next at 20"));

    let shown = schedules(database, &["show", "nightly"]).ok();
    for words in ["cron           30 2 * * *\n", "timezone       Europe/Berlin\n", "origin         made by a command\n"]
    {
        assert!(shown.contains(words), "{words:?}: {shown}");
    }
    assert!(shown.contains("payload        {\"n\": 1.50}\n") && shown.contains("\nLOCAL TIME  "), "{shown}");
    let firings: Vec<_> = shown.lines().filter(|line| line.contains("fired by ivo")).collect();
    assert!(firings.len() == 2 && firings[1].contains(&format!("entry {id}  has not ended")), "{shown}");
    assert!(shown.contains("\nFires next at 20"), "{shown}");
    let whole = schedules(database, &["show", "nightly", "--json"]).ok();
    assert!(whole.contains(r#""payload":{"n": 1.50}"#), "{whole}");
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(
        (&whole["words"], whole["next"].as_array().unwrap().len()),
        (&json!("at 02:30 every day (Europe/Berlin)"), 5)
    );
    assert_eq!(whole["next"][0]["utc"], whole["next_fire_at"]);
    assert!(whole["next"][0]["local"].as_str().unwrap().contains("T02:30:00+0"), "{whole}");
    assert_eq!(whole["firings"][1]["entry_id"], id);

    assert!(schedules(database, &["remove", "nightly"]).ok().starts_with("nightly is removed"));
    for arguments in
        [&["show", "oftn"][..], &["remove", "oftn"], &["pause", "oftn"], &["resume", "oftn"], &["fire", "oftn"]]
    {
        schedules(database, arguments).fails(1, "there is no schedule \"oftn\"; did you mean \"often\"?");
    }
    database.sql("UPDATE soloist_schedules SET origin = 'config' WHERE name = 'often'");
    schedules(database, &["remove", "often"]).fails(1, "is declared by nodes");
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 2);
    database.sql("UPDATE soloist_schedules SET declared = 0 WHERE name = 'often'");
    assert!(schedules(database, &["list"]).ok().contains("stopped: nobody declares it"));
}

fn a_wrong_schedule_is_refused_and_nothing_kept(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    let refuse = |arguments: &[&str], words: &str| {
        let said = schedules(database, &[&["add", "s", "--task", "mail"], arguments].concat());
        let said = said.fails(2, words);
        assert!(said.out.is_empty() && !said.err.contains("panicked"), "{said:?}");
    };
    for every in ["0s", "-5m", "", "5", "5x", "NaNs", "1e400s", "99999999999d", "18446744073709551616s", "1ms"] {
        refuse(&["--every", every], "every: ");
    }
    refuse(&["--cron", "0 0 31 2 *"], "cron: “0 0 31 2 *” never comes");
    refuse(&["--cron", "60 * * * *"], "a minute is 0-59");
    refuse(&["--at", "tomorrow"], "at: “tomorrow” is no instant");
    refuse(&["--every", "1h", "--timezone", "Berlin"], "the nearest name is “Europe/Berlin”");
    refuse(&["--every", "1h", "--misfire", "onse"], "the nearest is “once”");
    refuse(&["--every", "1h", "--payload", "{'a'}"], "payload: it is not JSON");
    refuse(&["--every", "1h", "--payload", "@/nowhere.json"], "/nowhere.json cannot be read");
    refuse(&["--every", "1h", "--start", "2027-01-01T00:00:00Z", "--end", "2026-01-01T00:00:00Z"], "end: ");
    refuse(&["--every", "1h", "--cron", "0 3 * * *"], "cannot be used with");
    refuse(&[], "required");
    schedules(database, &["add", "a b", "--task", "mail", "--every", "1h"]).fails(2, "name: ");
    let unknown = schedules(database, &["add", "s", "--task", "mial", "--every", "1h"]);
    unknown.fails(2, "no living node declares \"mial\"; did you mean \"mail\"?");
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 0);
}

fn all_schedules_are_paused_at_once(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    schedules(database, &["add", "one", "--task", "mail", "--every", "1h"]).ok();
    let held = schedules(database, &["pause", "--all", "--reason", "the move"]).ok();
    assert_eq!(held, "all schedules are paused on all nodes; what they have made goes on.\n");
    let made = json(database, &["add", "two", "--task", "mail", "--every", "1h"]);
    assert_eq!((&made["paused"]["reason"], &made["next_fire_at"]), (&json!("the move"), &Value::Null), "{made}");
    let shown = schedules(database, &["show", "one"]).ok();
    let told = "It is paused by ivo since ";
    assert!(shown.contains(told) && shown.contains("To let it fire again: soloist schedules resume --all"), "{shown}");
    let status = run(database, &["status"]).ok();
    assert!(status.contains("All schedules are paused by ivo since "), "{status}");
    schedules(database, &["pause", "two"]).ok();
    let one = schedules(database, &["resume", "two"]).ok();
    assert_eq!(one, "two fires again once all schedules do: soloist schedules resume --all.\n");
    schedules(database, &["pause", "two"]).ok();
    let again = schedules(database, &["resume", "--all"]).ok();
    assert_eq!(again, "all schedules fire again that have no pause of their own.\n");
    let list = json(database, &["list"]);
    assert_eq!(
        (&list["items"][0]["paused"], &list["items"][1]["paused"]["by"]),
        (&Value::Null, &json!("ivo")),
        "{list}"
    );
    schedules(database, &["pause"]).fails(2, "required");
    schedules(database, &["resume", "one", "--all"]).fails(2, "cannot be used with");
}

fn it_is_said_why_a_time_did_not_fire(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    let add = ["add", "s", "--task", "mail", "--cron", "*/15 2 * * *", "--timezone", "Europe/Berlin"];
    schedules(database, &[&add[..], &["--start", "2020-01-01T00:00:00Z"]].concat()).ok();
    // 2025-03-26, 02:15 to 03:00 in Berlin is 01:15 to 02:00 in UTC.
    let firing = |minute: i64, rest: &str| {
        let due = 1_742_950_800_000_000_i64 + minute * 60_000_000;
        database.sql(&format!(
            "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome, node, reason, run_until, \
             run_count, entry_id, result, ended_at) VALUES ('s', {due}, {due} + 150000, {rest})"
        ));
    };
    firing(0, "'fired', 'web-1', NULL, NULL, NULL, 17, 'completed', 1742950900000000");
    firing(15, "'skipped', 'web-1', 'the one before still goes on', 1742952600000000, 2, NULL, NULL, NULL");
    let why = |at: &str| {
        let said = schedules(database, &["show", "s", "--at", at]).ok();
        said.lines().last().unwrap().to_owned()
    };
    let fired = "It fired, 0.1 s late on web-1: entry 17 is completed since 2025-03-26 01:01 UTC.";
    assert_eq!(why("2025-03-26T02:00"), fired);
    assert_eq!(why("2025-03-26T01:00:00Z"), fired);
    let skipped = "It was skipped: the one before still goes on. So were 2 due times up to 2025-03-26 01:30 UTC.";
    assert_eq!((why("2025-03-26T02:15"), why("2025-03-26T02:30")), (skipped.to_owned(), skipped.to_owned()));
    let around = "That is no due time; those around it are 2025-03-26 02:15:00 Europe/Berlin (01:15:00 UTC) and \
                  2025-03-26 02:30:00 Europe/Berlin (01:30:00 UTC).";
    assert_eq!(why("2025-03-26T02:20"), around);
    assert!(why("2025-03-26T02:45").starts_with("It is not on record"));
    let gap = why("2099-03-29T02:30");
    assert!(gap.starts_with("02:30:00 is left out that day: clocks go on to 03:00:00. That is no due time; "), "{gap}");
    assert_eq!(why("2019-03-26T02:45"), "It is before the start of the schedule.");
    assert!(why("2099-03-26T02:45").starts_with("It is still to come, in "));
    database.sql("UPDATE soloist_nodes SET roles = 'worker'");
    assert_eq!(why("2099-03-26T02:45"), "No living node fires schedules. To run one: soloist serve");
    schedules(database, &["show", "s", "--at", "half past two"]).fails(2, "on the clocks of Europe/Berlin");

    let firings = |arguments: &[&str]| run(database, &[&["firings", "list"], arguments].concat());
    let first = firings(&["--limit", "1", "--json"]).json();
    assert_eq!(first["items"][0]["outcome"], "skipped");
    let rest = firings(&["--cursor", first["next_cursor"].as_str().unwrap(), "--schedule", "s", "--json"]);
    assert_eq!(rest.json()["items"].as_array().unwrap().len(), 0, "by due time, of one schedule");
    let table = firings(&["--schedule", "s"]).ok();
    assert!(table.starts_with("SCHEDULE  DUE") && table.contains("skipped, 2 times"), "{table}");
    firings(&["--schedule", "t"]).fails(1, "there is no schedule \"t\"");
    firings(&["--cursor", "x"]).fails(2, "cursor");
}

fn a_schedule_is_changed(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    let add = ["add", "half", "--task", "mail", "--every", "500ms", "--start", "2020-01-01T00:00:00.25Z"];
    let made = schedules(database, &[&add[..], &["--overlap", "queue", "--jitter", "250ms"]].concat()).ok();
    assert!(made.contains(".25Z.") || made.contains(".75Z."), "a due time has its digits: {made}");
    let said = schedules(database, &["change", "half", "--cron", "0 3 * * *", "--timezone", "Europe/Berlin"]).ok();
    assert!(said.starts_with("half fires mail ") && said.contains("; next at "), "{said}");
    let changed = schedules(database, &["change", "half", "--default", "jitter,overlap", "--json"]).json();
    assert_eq!((&changed["cron"], &changed["every"]), (&"0 3 * * *".into(), &Value::Null));
    assert_eq!((&changed["jitter"], &changed["overlap"]), (&"0s".into(), &"skip".into()));
    assert_eq!((&changed["origin"], &changed["timezone"]), (&"cli".into(), &"Europe/Berlin".into()));
    schedules(database, &["change", "half"]).fails(2, "say what is to change");
    schedules(database, &["change", "half", "--every", "1ms"]).fails(2, "every: ");
    schedules(database, &["change", "half", "--default", "task"]).fails(2, "possible values: timezone");
    schedules(database, &["change", "hlaf", "--every", "1h"]).fails(1, "did you mean \"half\"?");
    database.sql("UPDATE soloist_schedules SET origin = 'config'");
    schedules(database, &["change", "half", "--every", "1h"]).fails(1, "is declared by nodes");
}
