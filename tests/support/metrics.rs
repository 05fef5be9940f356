//! Reads the text that Prometheus reads, and refuses what Prometheus would.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::{Command, Stdio},
};

type Labels = BTreeMap<String, String>;

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The name, with `_bucket`, `_sum` or `_count` where it has one.
    pub name: String,
    /// Names and values of its labels.
    pub labels: Labels,
    /// The figure itself.
    pub value: f64,
}

/// A text of metrics, read.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Help and kind by name.
    pub families: BTreeMap<String, (String, String)>,
    /// All figures, in their order.
    pub figures: Vec<Figure>,
}

impl Metrics {
    /// Reads a text; fails with the line that is wrong.
    #[track_caller]
    pub fn read(text: &str) -> Self {
        let mut metrics = Self::default();
        let mut help = (String::new(), String::new());
        assert!(text.ends_with('\n'), "the last line ends");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').unwrap_or_else(|| panic!("help without words: {line}"));
                help = (name.to_owned(), words.to_owned());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("no kind: {line}"));
                assert_eq!(help.0, name, "the help stands before the kind");
                let twice = metrics.families.insert(name.to_owned(), (help.1.clone(), kind.to_owned()));
                assert!(twice.is_none(), "{name} comes twice");
            } else {
                metrics.figures.push(figure(line));
            }
        }
        metrics.check();
        metrics
    }

    /// The figure with these labels; nothing if there is none.
    pub fn figure(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |figure: &&Figure| {
            figure.name == name
                && labels.len() == figure.labels.len()
                && labels.iter().all(|(label, value)| figure.labels.get(*label).is_some_and(|own| own == value))
        };
        self.figures.iter().find(has).map(|figure| figure.value)
    }

    /// All figures of this name together.
    pub fn sum(&self, name: &str) -> f64 {
        self.figures.iter().filter(|figure| figure.name == name).map(|figure| figure.value).sum()
    }

    fn family<'a>(&self, name: &'a str) -> &'a str {
        if self.families.contains_key(name) {
            return name;
        }
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(self.families.get(base).is_some_and(|(_, kind)| kind == "histogram"), "{name} has no TYPE");
        base
    }

    fn check(&self) {
        let mut seen = BTreeSet::new();
        for (name, (help, kind)) in &self.families {
            assert!(!help.trim().is_empty(), "{name} has no help");
            assert!(["counter", "gauge", "histogram"].contains(&kind.as_str()), "{name}: {kind}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        }
        let mut buckets: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for figure in &self.figures {
            let family = self.family(&figure.name);
            assert!(seen.insert((figure.name.clone(), figure.labels.clone())), "{figure:?} comes twice");
            if figure.name.ends_with("_bucket") {
                let mut labels = figure.labels.clone();
                let bound = labels.remove("le").expect("a bucket has its bound");
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("a bound is a number") };
                buckets.entry((family.to_owned(), labels)).or_default().push((bound, figure.value));
            }
        }
        for ((family, labels), buckets) in buckets {
            assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{family}{labels:?}: {buckets:?}");
            let labels: Vec<_> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let last = buckets.last().expect("there are buckets");
            assert_eq!(last.0, f64::INFINITY, "{family}: the last bucket takes the rest");
            assert_eq!(self.figure(&format!("{family}_count"), &labels), Some(last.1), "{family}");
        }
    }
}

/// `name{label="value",…} 1.5`
fn figure(line: &str) -> Figure {
    let (head, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
    let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    let (name, rest) = head.split_once('{').unwrap_or((head, "}"));
    let mut labels = BTreeMap::new();
    let mut rest = rest.strip_suffix('}').unwrap_or_else(|| panic!("no closing brace: {line}"));
    while let Some((label, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("an open text: {line}"));
        assert!(!value.contains('\\'), "no value of ours needs an escape: {line}");
        assert!(labels.insert(label.to_owned(), value.to_owned()).is_none(), "a label comes twice: {line}");
        rest = after.trim_start_matches(',');
    }
    assert!(rest.is_empty(), "{line}");
    let word = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    assert!(word(name) && labels.keys().all(|label| word(label)), "{line}");
    Figure { name: name.to_owned(), labels, value }
}

/// Runs `promtool` with these arguments, where it is installed; fails if it finds anything.
#[track_caller]
pub fn promtool(arguments: &[&str], input: &str) {
    let tool = std::env::var("SOLOIST_TEST_PROMTOOL").unwrap_or_else(|_| "promtool".to_owned());
    let mut command = Command::new(&tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut process) = command.spawn() else {
        println!("left out: {tool} {}: it is not installed", arguments.join(" "));
        return;
    };
    let mut stdin = process.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = process.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && !said.contains("error"), "{tool} {}:\n{said}", arguments.join(" "));
}
