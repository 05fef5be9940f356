//! Takes out of a text what may be a secret, before anybody sees it.

use std::ops::Range;

/// What stands in the place of a secret.
pub const MASK: &str = "…";

const TELLING: [&str; 8] = ["secret", "token", "pass", "auth", "cookie", "credential", "api-key", "api_key"];

/// The parts of a text that may be secret: `user:password@` in URLs, `password=` in a query, and the values of keys whose
/// names tell.
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    user_information(text, &mut found);
    query_passwords(text, &mut found);
    telling_values(text, &mut found);
    found
}

/// The text with secrets taken out.
pub fn masked(text: &str) -> String {
    cut(text, &secrets(text)).into_iter().map(|(_, piece)| piece).collect()
}

/// The characters of a text that may be shown, each with its byte offset; a secret is one mask.
pub fn cut(text: &str, secrets: &[Range<usize>]) -> Vec<(usize, char)> {
    let mut shown: Vec<(usize, char)> = Vec::new();
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let secret = secrets.iter().any(|range| range.contains(&at));
        if !secret {
            shown.push((at, character));
        } else if !inside {
            shown.extend(MASK.chars().map(|mask| (at, mask)));
        }
        inside = secret;
    }
    shown
}

fn user_information(text: &str, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = text[from..].find("://") {
        let start = from + at + 3;
        // A password may hold any sign but a quote or a space: what is before the last “@” goes.
        let end = text[start..].find(['"', '\'', ' ', '\n']).map_or(text.len(), |end| start + end);
        if let Some(at_sign) = text[start..end].rfind('@') {
            found.push(start..start + at_sign);
        }
        from = start;
    }
}

fn query_passwords(text: &str, found: &mut Vec<Range<usize>>) {
    let lower = text.to_ascii_lowercase();
    for name in ["password=", "sslpassword=", "passwd=", "pwd="] {
        for (at, _) in lower.match_indices(name) {
            let start = at + name.len();
            let end = text[start..].find(['&', '"', '\'', ' ', '\n']).map_or(text.len(), |end| start + end);
            found.push(start..end);
        }
    }
}

fn telling_values(text: &str, found: &mut Vec<Range<usize>>) {
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for (equals, _) in text.match_indices('=') {
        let before = text[..equals].trim_end().trim_end_matches(['"', '\'']);
        let key = &before[before.trim_end_matches(is_key).len()..];
        let key = key.to_ascii_lowercase();
        let names_a_place = key.ends_with("_env") || key.ends_with("_file");
        if names_a_place || !TELLING.iter().any(|word| key.contains(word)) {
            continue;
        }
        let after = text[equals + 1..].trim_start();
        let start = text.len() - after.len();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            continue;
        };
        // To the end of the line where no quote closes it: a syntax error may have lost it.
        let close = after[1..].find(quote).map_or(text.len(), |close| start + 1 + close);
        found.push(start + 1..close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        for (text, shown) in [
            (r#"url = "postgres://app:hunter2@db/app""#, r#"url = "postgres://…@db/app""#),
            (r#"url = "postgres://app:hun@ter2@db/app"#, r#"url = "postgres://…@db/app"#),
            (
                r#"url = "postgres://db/app?user=a&password=hunter2&x=1""#,
                r#"url = "postgres://db/app?user=a&password=…&x=1""#,
            ),
            (r#"token = "hunter2""#, r#"token = "…""#),
            (
                r#"http = { url = "http://h/", Authorization = "Bearer x", a = "b" }"#,
                r#"http = { url = "http://h/", Authorization = "…", a = "b" }"#,
            ),
            (r#""api-key" = 'hunter2'"#, r#""api-key" = '…'"#),
            (r#"secret = "hunter2"#, r#"secret = "…"#),
            (r#"token_env = "APP_TOKEN""#, r#"token_env = "APP_TOKEN""#),
            (r#"concurrency = 8"#, r#"concurrency = 8"#),
            ("url = \"http://grün/\"", "url = \"http://grün/\""),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
