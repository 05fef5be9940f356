//! A stream of server-sent events, read as they come.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// Its data, as it came.
    pub data: String,
}

impl Event {
    /// The data as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("JSON was expected, {error}: {self:?}"))
    }
}

/// A stream that is open.
pub struct EventStream {
    reader: BufReader<TcpStream>,
    /// What of a chunk is not yet read.
    left: usize,
}

impl Iterator for EventStream {
    type Item = Event;

    /// The next event; nothing at the end of the stream.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = self.line().expect("an event comes within a minute")?;
            match line.split_once(": ") {
                Some(("id", value)) => event.id = Some(value.to_owned()),
                Some(("event", value)) => value.clone_into(&mut event.name),
                Some(("data", value)) => value.clone_into(&mut event.data),
                _ if line.is_empty() && !event.name.is_empty() => return Some(event),
                _ => {}
            }
        }
    }
}

impl EventStream {
    /// Opens one; the status and body of the answer if it is none.
    pub fn open(port: u16, path: &str, headers: &[(&str, &str)]) -> Result<Self, (u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the node listens");
        let mut text = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).expect("the request is sent");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out can be set");
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader).expect("an answer");
        let status: u16 = first.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let (mut chunked, mut length) = (false, 0);
        loop {
            let header = line(&mut reader).expect("a header").to_lowercase();
            let Some((name, value)) = header.split_once(": ") else { break };
            chunked |= name == "transfer-encoding" && value.contains("chunked");
            length = if name == "content-length" { value.parse().expect("a length") } else { length };
        }
        if status == 200 && chunked {
            return Ok(Self { reader, left: 0 });
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body");
        Err((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// The next event that satisfies; fails with `what` if it does not come.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        let start = Instant::now();
        let mut seen = Vec::new();
        while start.elapsed() < Duration::from_secs(60) {
            match self.next() {
                Some(event) if wanted(&event) => return event,
                Some(event) => seen.push(event),
                None => break,
            }
        }
        panic!("{what} did not come, but {seen:?}");
    }

    /// A line of the body; nothing at its end.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        let mut text = Vec::new();
        loop {
            if self.left == 0 {
                let size = line(&mut self.reader)?;
                self.left = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                if self.left == 0 {
                    return Ok(None);
                }
            }
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            self.left -= 1;
            if self.left == 0 {
                line(&mut self.reader)?;
            }
            if byte[0] == b'\n' {
                return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
            }
            text.push(byte[0]);
        }
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}
