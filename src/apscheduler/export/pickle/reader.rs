//! The instructions of a pickle that data needs. One that is not among them ends the reading.

use std::collections::HashMap;

use super::input::Input;
use super::{Object, Pickle, Value, broken};

/// The most values that one pickle may hold: those of an export have a few dozen.
const MOST: usize = 100_000;

/// The machine that a pickle is a program of: a stack, marks in it, and a memory.
pub(super) struct Reader<'a> {
    input: Input<'a>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<usize, Value>,
    pickle: Pickle,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let pickle = Pickle { objects: Vec::new() };
        Self { input: Input(bytes), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new(), pickle }
    }

    /// Reads to the end; all objects, and the value that they make.
    pub(super) fn run(mut self) -> Result<(Pickle, Value), String> {
        loop {
            let [code] = self.input.bytes::<1>()?;
            match code {
                b'.' => return self.pop().map(|value| (self.pickle, value)),
                0x80 => drop(self.input.bytes::<1>()?),
                0x95 => drop(self.input.bytes::<8>()?),
                b'N' => self.push(Value::None)?,
                0x88 => self.push(Value::Bool(true))?,
                0x89 => self.push(Value::Bool(false))?,
                b'K' => self.number(1)?,
                b'M' => self.number(2)?,
                b'J' => {
                    let bytes = self.input.bytes()?;
                    self.push(Value::Int(i32::from_le_bytes(bytes).into()))?;
                }
                0x8a => self.long()?,
                b'G' => {
                    let bytes = self.input.bytes()?;
                    self.push(Value::Float(f64::from_be_bytes(bytes)))?;
                }
                0x8c => self.text(1)?,
                b'X' => self.text(4)?,
                b'C' => self.byte_string(1)?,
                b'B' => self.byte_string(4)?,
                b'(' => self.marks.push(self.stack.len()),
                b')' => self.make(Object::Tuple(Vec::new()))?,
                0x85..=0x87 => {
                    let values = self.pop_many(usize::from(code - 0x84))?;
                    self.make(Object::Tuple(values))?;
                }
                b't' => {
                    let values = self.pop_to_mark()?;
                    self.make(Object::Tuple(values))?;
                }
                b']' => self.make(Object::List(Vec::new()))?,
                b'}' => self.make(Object::Dict(Vec::new()))?,
                b'a' => {
                    let value = self.pop()?;
                    self.append(vec![value])?;
                }
                b'e' => {
                    let values = self.pop_to_mark()?;
                    self.append(values)?;
                }
                b's' => {
                    let pair = self.pop_many(2)?;
                    self.set(pair)?;
                }
                b'u' => {
                    let pairs = self.pop_to_mark()?;
                    self.set(pairs)?;
                }
                0x93 => {
                    let names = self.pop_many(2)?;
                    let [Value::Text(module), Value::Text(name)] = names.as_slice() else { return Err(broken()) };
                    let global = format!("{module}.{name}");
                    self.push(Value::Global(global.into()))?;
                }
                b'c' => {
                    let (module, name) = (self.input.line()?, self.input.line()?);
                    self.push(Value::Global(format!("{module}.{name}").into()))?;
                }
                b'R' | 0x81 => {
                    let args = self.pop()?;
                    let by = self.pop()?;
                    self.make(Object::Made { by, args, state: Value::None })?;
                }
                b'b' => self.build()?,
                0x94 => self.remember(self.memo.len())?,
                b'q' => {
                    let [place] = self.input.bytes()?;
                    self.remember(place.into())?;
                }
                b'r' => {
                    let bytes = self.input.bytes()?;
                    self.remember(u32::from_le_bytes(bytes) as usize)?;
                }
                b'h' => {
                    let [place] = self.input.bytes()?;
                    self.recall(place.into())?;
                }
                b'j' => {
                    let bytes = self.input.bytes()?;
                    self.recall(u32::from_le_bytes(bytes) as usize)?;
                }
                code => {
                    return Err(format!("it holds the instruction {code:#04x}, which no date, zone or field needs"));
                }
            }
        }
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        if self.stack.len() + self.pickle.objects.len() >= MOST {
            return Err(format!("it holds more than {MOST} values"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(broken)
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value>, String> {
        let at = self.stack.len().checked_sub(count).ok_or_else(broken)?;
        Ok(self.stack.split_off(at))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len()).ok_or_else(broken)?;
        Ok(self.stack.split_off(mark))
    }

    fn make(&mut self, object: Object) -> Result<(), String> {
        self.pickle.objects.push(object);
        self.push(Value::At(self.pickle.objects.len() - 1))
    }

    /// What lies on top of the stack.
    fn top(&mut self) -> Result<&mut Object, String> {
        let Some(Value::At(place)) = self.stack.last() else { return Err(broken()) };
        self.pickle.objects.get_mut(*place).ok_or_else(broken)
    }

    fn append(&mut self, values: Vec<Value>) -> Result<(), String> {
        let Object::List(list) = self.top()? else { return Err(broken()) };
        list.extend(values);
        Ok(())
    }

    fn set(&mut self, pairs: Vec<Value>) -> Result<(), String> {
        let Object::Dict(dict) = self.top()? else { return Err(broken()) };
        let mut values = pairs.into_iter();
        while let (Some(key), Some(value)) = (values.next(), values.next()) {
            dict.push((key, value));
        }
        Ok(())
    }

    fn build(&mut self) -> Result<(), String> {
        let given = self.pop()?;
        let Object::Made { state, .. } = self.top()? else { return Err(broken()) };
        *state = given;
        Ok(())
    }

    fn remember(&mut self, place: usize) -> Result<(), String> {
        let value = self.stack.last().cloned().ok_or_else(broken)?;
        self.memo.insert(place, value);
        Ok(())
    }

    fn recall(&mut self, place: usize) -> Result<(), String> {
        let value = self.memo.get(&place).cloned().ok_or_else(broken)?;
        self.push(value)
    }

    fn number(&mut self, count: usize) -> Result<(), String> {
        let number = i64::try_from(self.input.size(count)?).map_err(|_| broken())?;
        self.push(Value::Int(number))
    }

    fn long(&mut self) -> Result<(), String> {
        let bytes = self.input.sized(1)?;
        if bytes.len() > 8 {
            return Err("it holds a number of more than 64 bits".to_owned());
        }
        let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
        let number = bytes.iter().rev().fold(sign, |sum: i64, byte| sum << 8 | i64::from(*byte));
        self.push(Value::Int(number))
    }

    fn text(&mut self, count: usize) -> Result<(), String> {
        let text = std::str::from_utf8(self.input.sized(count)?).map_err(|_| broken())?;
        self.push(Value::Text(text.into()))
    }

    fn byte_string(&mut self, count: usize) -> Result<(), String> {
        let bytes = self.input.sized(count)?;
        self.push(Value::Bytes(bytes.into()))
    }
}
