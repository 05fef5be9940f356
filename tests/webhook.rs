//! The web hook handler against a hook on loopback: what is sent, and what each answer means.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "handlers/call.rs"]
mod call;

use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use soloist::config::{Secret, WebHook};
use soloist::handler::webhook::{WebHookHandler, client, install_tls_provider};
use soloist::handler::{Call, Handler};
use soloist::model::Outcome;

use call::{call, entry, outcome_of};
use house::{Answer, Hook, until};

const SOON: Duration = Duration::from_secs(10);
const SIGNING: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn config(url: &str) -> WebHook {
    WebHook { url: url.parse().expect("a URL"), token: None, secrets: Vec::new(), headers: Vec::new() }
}

fn handler_of(config: &WebHook, batch: usize) -> WebHookHandler {
    install_tls_provider();
    WebHookHandler::new(client().expect("a client"), config, batch).expect("a handler")
}

fn handler(hook: &Hook, batch: usize) -> WebHookHandler {
    handler_of(&config(&hook.url("/hook")), batch)
}

async fn answered(reply: impl Fn() -> Answer + Send + Sync + 'static) -> (Outcome, usize) {
    let hook = Hook::start(move |_| reply());
    let outcome = outcome_of(&handler(&hook, 1), call(vec![entry(17, "{}")])).await;
    (outcome, hook.count())
}

#[actix::test]
async fn one_entry_is_its_json_digit_for_digit_under_its_headers() {
    let hook = Hook::start(|_| Answer::Status(200, "fine".to_owned()));
    let mut config = config(&hook.url("/hook"));
    config.token = Some(Secret::new("t0ken-text"));
    config.secrets = vec![Secret::new(SIGNING), Secret::new("an older one")];
    config.headers = vec![("X-Team".to_owned(), "img".to_owned())];
    let payload = r#"{"n":12345678901234567890.123456789012345678901234567890, "e":1E400,"t":"💥\u0000"}"#;
    let outcome = outcome_of(&handler_of(&config, 1), call(vec![entry(17, payload)])).await;
    assert_eq!(outcome, Outcome::Completed { output: Some("fine".to_owned()) });

    let request = hook.received().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/hook"));
    assert_eq!(
        request.text(),
        format!(
            r#"{{"id":17,"task":"thumbnail","key":"7","payload":{payload},"attempt":1,"max_attempts":10,"scheduled_for":null,"created_at":"2023-11-14T22:13:20Z","idempotency_key":"test-17"}}"#
        )
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert!(request.header("user-agent").expect("a user agent").starts_with("soloist/"));
    assert_eq!(request.header("authorization"), Some("Bearer t0ken-text"));
    assert_eq!(request.header("x-team"), Some("img"));
    assert_eq!(request.header("webhook-id"), Some("test-17"));
    assert_eq!(request.header("webhook-signature").expect("signatures").split(' ').count(), 2);
    let sent: u64 = request.header("webhook-timestamp").expect("a timestamp").parse().expect("seconds");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
    assert!(now - sent < 60, "{sent} is not now");
    let trace: Vec<_> = request.header("traceparent").expect("a trace").split('-').map(str::len).collect();
    assert_eq!(trace, [2, 32, 16, 2]);
}

#[actix::test]
async fn without_token_and_secret_nothing_is_signed_and_nothing_authorised() {
    let hook = Hook::start(|_| Answer::from(204));
    let outcome = outcome_of(&handler(&hook, 1), call(vec![entry(1, "null")])).await;
    assert_eq!(outcome, Outcome::Completed { output: None });
    let request = hook.received().remove(0);
    assert_eq!((request.header("authorization"), request.header("webhook-signature")), (None, None));
}

#[actix::test]
async fn a_batch_is_a_list_also_of_one_under_a_name_for_the_call() {
    let hook = Hook::start(|_| Answer::from(200));
    let handler = handler(&hook, 10);
    let three = || vec![entry(1, "{}"), entry(2, "[2]"), entry(3, "3")];
    assert_eq!(handler.call(call(three())).await, vec![Outcome::completed(); 3]);
    let mut again = three();
    again.reverse();
    handler.call(call(again)).await;
    let mut later = three();
    later[0].attempt = 2;
    handler.call(call(later)).await;
    assert_eq!(handler.call(call(vec![entry(9, "9")])).await, vec![Outcome::completed()]);

    let requests = hook.received();
    let body: Value = serde_json::from_slice(&requests[0].body).expect("JSON");
    let payloads: Vec<_> = body["entries"].as_array().expect("a list").iter().map(|item| &item["payload"]).collect();
    assert_eq!(payloads, [&json!({}), &json!([2]), &json!(3)]);
    let body: Value = serde_json::from_slice(&requests[3].body).expect("JSON");
    assert_eq!(body["entries"][0]["id"], 9);
    let ids: Vec<_> = requests.iter().map(|request| request.header("webhook-id").expect("a name")).collect();
    assert_eq!(ids[0], ids[1], "the same attempts are the same call");
    assert_ne!(ids[0], ids[2], "other attempts are another call");
}

#[actix::test]
async fn a_batch_answer_names_what_failed() {
    let answer = json!({"failed": [{"id": 2, "error": "later", "retry": true}, {"id": 3, "error": "never", "retry": false}, {"id": 4}, {"id": 99}]});
    let hook =
        Hook::start(move |_| Answer::Full(200, vec![("Retry-After".to_owned(), "7".to_owned())], answer.to_string()));
    let outcomes = handler(&hook, 4).call(call((1..=4).map(|id| entry(id, "{}")).collect())).await;
    assert_eq!(outcomes[0], Outcome::completed());
    let seven = Some(Duration::from_secs(7));
    assert_eq!(outcomes[1], Outcome::Retry { error: "later".to_owned(), output: None, not_before: seven });
    assert_eq!(outcomes[2], Outcome::failed("never"));
    assert!(matches!(&outcomes[3], Outcome::Retry { error, .. } if error.contains("no reason")));
}

#[actix::test]
async fn a_batch_answer_that_cannot_be_read_is_not_success() {
    for body in [r#"{"failed":[{"id":1"#.to_owned(), format!("{{\"pad\":\"{}\"}}", "x".repeat(1_100_000))] {
        let hook = Hook::start(move |_| Answer::Status(200, body.clone()));
        let outcomes = handler(&hook, 2).call(call(vec![entry(1, "{}"), entry(2, "{}")])).await;
        assert_eq!(outcomes.len(), 2);
        for outcome in outcomes {
            assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
        }
    }
}

#[actix::test]
async fn each_status_means_one_thing() {
    for code in [200, 201, 202, 204, 299] {
        let (outcome, calls) = answered(move || Answer::from(code)).await;
        assert_eq!((outcome, calls), (Outcome::completed(), 1), "{code}");
    }
    for code in [400, 410, 413, 414, 415, 422] {
        let (outcome, calls) = answered(move || Answer::Status(code, "words".to_owned())).await;
        let Outcome::Failed { error, output } = outcome else { panic!("{code}: {outcome:?}") };
        assert!(error.contains(&code.to_string()) && calls == 1, "{error}");
        assert_eq!(output.as_deref(), Some("words"));
    }
    for code in [401, 403, 404] {
        let (outcome, _) = answered(move || Answer::Status(code, "words".to_owned())).await;
        assert!(matches!(&outcome, Outcome::Refused { reason } if reason.contains(&code.to_string())), "{outcome:?}");
    }
    for code in [402, 405, 408, 409, 418, 425, 429, 451, 500, 501, 502, 503, 504, 599] {
        let (outcome, _) = answered(move || Answer::Status(code, "words".to_owned())).await;
        let Outcome::Retry { error, output, not_before } = outcome else { panic!("{code}: {outcome:?}") };
        assert!(error.contains(&code.to_string()), "{error}");
        assert_eq!((output.as_deref(), not_before), (Some("words"), None));
    }
}

#[actix::test]
async fn a_redirect_is_final_and_its_location_is_never_requested() {
    for code in [300, 301, 302, 303, 304, 307, 308] {
        let inside = Hook::start(|_| Answer::from(200));
        let location = inside.url("/inside");
        let outside =
            Hook::start(move |_| Answer::Full(code, vec![("Location".to_owned(), location.clone())], String::new()));
        let outcome = outcome_of(&handler(&outside, 1), call(vec![entry(1, "{}")])).await;
        let Outcome::Failed { error, .. } = outcome else { panic!("{code}: {outcome:?}") };
        assert!(error.contains(&code.to_string()) && error.contains(&inside.url("/inside")), "{error}");
        assert_eq!((outside.count(), inside.count()), (1, 0));
    }
}

#[actix::test]
async fn retry_after_is_a_wish_in_seconds_or_a_date_and_garbage_is_none() {
    let date = || httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60));
    let cases = [
        (429, "5".to_owned(), 5..=5),
        (429, date(), 58..=61),
        (503, "99999999999".to_owned(), 604_800..=604_800),
        (503, "99999999999999999999999999999".to_owned(), 604_800..=604_800),
        (503, "banana".to_owned(), 0..=0),
    ];
    for (code, wish, expected) in cases {
        let text = wish.clone();
        let (outcome, _) =
            answered(move || Answer::Full(code, vec![("Retry-After".to_owned(), text.clone())], String::new())).await;
        let Outcome::Retry { not_before, .. } = outcome else { panic!("{wish}: {outcome:?}") };
        assert!(expected.contains(&not_before.unwrap_or_default().as_secs()), "{wish}: {not_before:?}");
        assert_eq!(not_before.is_none(), wish == "banana");
    }
}

#[actix::test]
async fn what_cannot_be_connected_to_refuses_and_what_breaks_off_is_retried() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let closed = handler_of(&config(&format!("http://user:hush@{free}/x?key=hush")), 1);
    let refused = outcome_of(&closed, call(vec![entry(1, "{}")])).await;
    let Outcome::Refused { reason } = refused else { panic!("{refused:?}") };
    assert!(reason.contains("refused") && reason.contains(&format!("http://{free}/x")), "{reason}");
    assert!(!reason.contains("hush"), "{reason}");

    let plain = Hook::start(|_| Answer::from(200));
    let tls = handler_of(&config(&plain.url("/").replace("http:", "https:")), 1);
    let refused = outcome_of(&tls, call(vec![entry(1, "{}")])).await;
    assert!(matches!(refused, Outcome::Refused { .. }), "{refused:?}");

    for raw in
        ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "no HTTP at all\r\n\r\n"]
    {
        let (outcome, calls) = answered(move || Answer::Raw(raw.as_bytes().to_vec())).await;
        assert!(matches!(outcome, Outcome::Retry { .. }), "{raw:?}: {outcome:?}");
        assert_eq!(calls, 1, "{raw:?}");
    }
}

#[actix::test]
async fn the_time_out_is_of_the_whole_call_also_in_the_middle_of_an_answer() {
    for said in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"] {
        let hook = Hook::start(move |_| Answer::Silence(said.to_owned()));
        let after = Duration::from_millis(300);
        let one = Call { timeout: Some(after), ..call(vec![entry(1, "{}")]) };
        let outcome = outcome_of(&handler(&hook, 1), one).await;
        assert_eq!(outcome, Outcome::TimedOut { after, output: None });
    }
}

#[actix::test]
async fn a_stop_hands_back_and_hangs_up() {
    let hook = Hook::start(|_| Answer::Silence(String::new()));
    let handler = handler(&hook, 2);
    let two = Call { timeout: None, ..call(vec![entry(1, "{}"), entry(2, "{}")]) };
    let stop = two.stop.clone();
    let (outcomes, hook) = futures_util::join!(handler.call(two), async {
        let steps = actix_web::web::block(move || {
            until(SOON, "a request", || hook.count() == 1);
            stop.cancel();
            until(SOON, "the end of the connection", || hook.hung_up() == 1);
            hook
        });
        steps.await.expect("the hook")
    });
    assert_eq!(outcomes, vec![Outcome::HandedBack; 2]);
    assert_eq!(hook.count(), 1);
}

#[actix::test]
async fn what_is_kept_of_an_answer_is_bounded_clean_and_without_our_secrets() {
    let (outcome, _) =
        answered(|| Answer::Raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\na\0b\xffc".to_vec())).await;
    assert!(matches!(&outcome, Outcome::Retry { output: Some(text), .. } if text == "a\u{FFFD}b\u{FFFD}c"));
    let (outcome, _) = answered(|| Answer::Status(500, "é".repeat(3_000_000))).await;
    let Outcome::Retry { output: Some(text), .. } = outcome else { panic!("{outcome:?}") };
    assert!(text.len() <= 16 * 1024 && text.starts_with("éé") && !text.contains('\u{FFFD}'));
    let (outcome, _) = answered(|| Answer::Status(200, "y".repeat(3_000_000))).await;
    assert_eq!(outcome, Outcome::Completed { output: Some("y".repeat(1024)) });

    let hook = Hook::start(|request| Answer::Status(500, format!("{}{:?}", "x".repeat(16_370), request.headers)));
    let mut config = config(&hook.url("/hook"));
    config.token = Some(Secret::new("t0ken-text"));
    config.headers = vec![("A".to_owned(), "b".to_owned())];
    let outcome = outcome_of(&handler_of(&config, 1), call(vec![entry(1, "{}")])).await;
    assert!(!format!("{outcome:?}").contains("t0ken"), "{outcome:?}");
    assert!(!format!("{:?}", handler_of(&config, 1)).contains("t0ken"));
}

#[actix::test]
async fn the_python_package_of_the_specification_accepts_the_signature() {
    let Some(mut python) = house::python() else { return };
    let hook = Hook::start(|_| Answer::from(200));
    let mut config = config(&hook.url("/hook"));
    config.secrets = vec![Secret::new("whsec_b2xkZXIgc2VjcmV0"), Secret::new(SIGNING)];
    outcome_of(&handler_of(&config, 1), call(vec![entry(1, r#"{"t":"💥"}"#)])).await;
    let request = hook.received().remove(0);
    let headers: HashMap<_, _> = request.headers.iter().cloned().collect();
    let script = "import json,sys;from standardwebhooks import Webhook\n\
                  x=json.load(sys.stdin)\nfor s in x['secrets']: Webhook(s).verify(x['body'],x['headers'])\n\
                  try: Webhook(x['secrets'][0]).verify(x['body']+' ',x['headers'])\n\
                  except Exception: print('good')";
    let mut child =
        python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python starts");
    let secrets = ["whsec_b2xkZXIgc2VjcmV0", SIGNING];
    let input = json!({"headers": headers, "body": request.text(), "secrets": secrets});
    child.stdin.take().expect("a pipe").write_all(input.to_string().as_bytes()).expect("python reads");
    let output = child.wait_with_output().expect("python ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "good");
}
