//! The nearest valid name to one that was mistyped.

/// The candidate that somebody who typed `name` most likely meant, if one is near enough to say so.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&typed, &candidate.to_lowercase()), candidate))
        .filter(|(nearness, _)| *nearness >= 0.55)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Names in a row: “a”, “b” and “c”.
pub fn enumerate<'a>(names: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("“{name}”")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let keys = ["concurrency", "timeout", "batch", "max_running"];
        assert_eq!(nearest("concurency", keys), Some("concurrency"));
        assert_eq!(nearest("Timeout", keys), Some("timeout"));
        assert_eq!(nearest("max-running", keys), Some("max_running"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(enumerate(["a", "b", "c"], "or"), "“a”, “b” or “c”");
    }
}
