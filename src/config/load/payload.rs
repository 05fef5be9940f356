//! Turns a value of the file into JSON, digit for digit.

use toml::de::DeValue;

use crate::config::walk::Item;

/// The value as JSON; keys keep the order of the file.
pub(super) fn json(item: &Item) -> Option<String> {
    Some(match item.value {
        DeValue::String(_) => quoted(&item.text()?.text),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().trim_start_matches('+').to_owned(),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.to_string(),
            Err(_) => {
                item.wrong("is too large", "write it in decimal digits");
                return None;
            }
        },
        DeValue::Float(number) => {
            let text = number.as_str().trim_start_matches('+');
            if text.contains(['n', 'i']) {
                item.wrong("JSON has no such number", "leave it out, or write it as text in quotes");
                return None;
            }
            text.to_owned()
        }
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => quoted(&time.to_string()),
        DeValue::Array(_) => {
            let parts: Vec<Option<String>> = item.array()?.iter().map(json).collect();
            format!("[{}]", parts.into_iter().collect::<Option<Vec<_>>>()?.join(","))
        }
        DeValue::Table(_) => {
            let parts = item.table()?.items();
            let parts: Vec<Option<String>> =
                parts.iter().map(|part| Some(format!("{}:{}", quoted(&part.key), json(part)?))).collect();
            format!("{{{}}}", parts.into_iter().collect::<Option<Vec<_>>>()?.join(","))
        }
    })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
