//! Reads a Python pickle as data, and runs nothing of it: what it would call is noted by name, not called.
//!
//! Only what APScheduler's exports hold is known: dates, spans, zones, cron fields. What they mean is `objects`.

mod input;
mod reader;

use std::rc::Rc;

/// A value. Whatever holds others lies in the [`Pickle`], by its place, so that a value is cheap to take twice.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    /// `module.name`
    Global(Rc<str>),
    At(usize),
}

/// What lies in a pickle.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// What calling `by` with `args` would make, with the state that it would be given.
    Made {
        by: Value,
        args: Value,
        state: Value,
    },
}

/// A pickle that was read.
#[derive(Debug, Default)]
pub(super) struct Pickle {
    objects: Vec<Object>,
}

/// Reads a pickle; the value that it stands for.
pub(super) fn read(bytes: &[u8]) -> Result<(Pickle, Value), String> {
    reader::Reader::new(bytes).run()
}

impl Pickle {
    pub(super) fn object(&self, value: &Value) -> Option<&Object> {
        if let Value::At(place) = value { self.objects.get(*place) } else { None }
    }

    /// The values of a tuple or a list.
    pub(super) fn items(&self, value: &Value) -> Option<&[Value]> {
        match self.object(value) {
            Some(Object::Tuple(items) | Object::List(items)) => Some(items),
            _ => None,
        }
    }

    /// What a value is, for errors.
    pub(super) fn describe(&self, value: &Value) -> String {
        let mut value = value;
        while let Some(Object::Made { by, .. }) = self.object(value) {
            value = by;
        }
        match (value, self.object(value)) {
            (Value::Global(name), _) => name.to_string(),
            (_, Some(Object::List(_))) => "a list".to_owned(),
            (_, Some(Object::Dict(_))) => "a dictionary".to_owned(),
            (_, Some(Object::Tuple(_))) => "a tuple".to_owned(),
            (Value::Bytes(_), _) => "bytes".to_owned(),
            _ => "a plain value".to_owned(),
        }
    }
}

fn broken() -> String {
    "it is cut short or broken".to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn what_a_pickle_would_call_is_named_and_not_called() {
        // os.system("true")
        let (pickle, value) = read(b"\x80\x05\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.").unwrap();
        assert_eq!(pickle.describe(&value), "os.system");
        for (bytes, words) in [
            (&b"\x80\x05"[..], "cut short"),
            (b"\x8c\xffabc.", "cut short"),
            (b"R.", "cut short"),
            (b"h\x07.", "cut short"),
            (b"I1\n.", "the instruction 0x49"),
            (b"\x8a\x09123456789.", "more than 64 bits"),
        ] {
            let why = read(bytes).map(|_| ()).unwrap_err();
            assert!(why.contains(words), "{bytes:?}: {why}");
        }
        let many = [b"N".repeat(200_000), b".".to_vec()].concat();
        assert!(read(&many).map(|_| ()).unwrap_err().contains("more than 100000 values"));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_wild(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok((pickle, value)) = read(&bytes) {
                pickle.describe(&value);
            }
        }
    }
}
