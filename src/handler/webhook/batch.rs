//! What a 2xx answer to a batch says of single entries: `{"failed":[{"id":17,"error":"…","retry":true}]}`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::handler::output::{OF_FAILURE, head};

/// One entry that did not work.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) error: String,
    pub(super) retry: bool,
}

#[derive(Deserialize)]
struct Answer {
    failed: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    id: Value,
    error: Option<Value>,
    retry: Option<bool>,
}

/// The entries that the answer calls failed. An answer that is not a JSON object says that all worked; one whose
/// `failed` cannot be understood is an error, because taking it for success could lose an entry.
pub(super) fn failed(body: &[u8], whole: bool) -> Result<HashMap<i64, Verdict>, String> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Ok(HashMap::new());
    }
    if !whole {
        return Err("the answer to the batch is longer than 1 MiB, so that its `failed` cannot be read".to_owned());
    }
    let wrong = |what: &str| {
        format!(
            "the answer to the batch is not understood: {what}; expected {{\"failed\":[{{\"id\":17,\"error\":\"…\",\"retry\":true}}]}}"
        )
    };
    let answer: Answer = serde_json::from_slice(body).map_err(|error| wrong(&error.to_string()))?;
    let mut verdicts = HashMap::new();
    for item in answer.failed.unwrap_or_default() {
        let id = match &item.id {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let id = id.ok_or_else(|| wrong(&format!("the id {} is not a whole number", item.id)))?;
        let error = match item.error {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => head(text.as_bytes(), OF_FAILURE),
            Some(other) => head(other.to_string().as_bytes(), OF_FAILURE),
        };
        let error = error.unwrap_or_else(|| "the hook called it failed and gave no reason".to_owned());
        verdicts.insert(id, Verdict { error, retry: item.retry.unwrap_or(true) });
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn failed_entries_with_their_defaults() {
        let body =
            br#" {"failed":[{"id":1,"error":"a\u0000b","retry":false},{"id":"2"},{"id":3,"error":{"x":1}}],"more":1}"#;
        let failed = failed(body, true).unwrap();
        assert_eq!(failed[&1], Verdict { error: "a\u{FFFD}b".to_owned(), retry: false });
        assert!(failed[&2].retry && failed[&2].error.contains("no reason"));
        assert_eq!(failed[&3].error, r#"{"x":1}"#);
    }

    #[test]
    fn answers_that_say_nothing_of_failures() {
        for body in ["", "ok", "[]", "{}", r#"{"failed":[]}"#, r#"{"failed":null}"#, r#"{"ok":true}"#] {
            assert!(failed(body.as_bytes(), true).unwrap().is_empty(), "{body}");
        }
    }

    #[test]
    fn a_list_that_is_not_understood_is_never_taken_for_success() {
        for body in
            [r#"{"failed":[{"id":1"#, r#"{"failed":{"1":"x"}}"#, r#"{"failed":[17]}"#, r#"{"failed":[{"id":1.5}]}"#]
        {
            assert!(failed(body.as_bytes(), true).unwrap_err().contains("expected"), "{body}");
        }
        assert!(failed(br#"{"failed":[]"#, false).unwrap_err().contains("1 MiB"));
    }
}
