//! A web hook in a thread: records what it is sent and answers as the test says.

use std::{
    io::{self, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::http;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// `POST` as a rule.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl Received {
    /// A header's value, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        http::header(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("JSON was expected, {error}: {self:?}"))
    }
}

/// What the web hook says.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A status with a body.
    Status(u16, String),
    /// A status with headers and a body.
    Full(u16, Vec<(String, String)>, String),
    /// The connection is closed without a word.
    Cut,
    /// These bytes as they are, and the connection is closed.
    Raw(Vec<u8>),
    /// These bytes as they are, then silence until the peer hangs up.
    Silence(String),
}

impl From<u16> for Answer {
    fn from(status: u16) -> Self {
        Self::Status(status, String::new())
    }
}

/// A web hook that runs until it is dropped.
pub struct Hook {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    received: Mutex<Vec<Received>>,
    ended: AtomicBool,
    hung_up: AtomicUsize,
    answer: Box<dyn Fn(&Received) -> Answer + Send + Sync>,
}

impl Hook {
    /// Starts one. The closure may block: each connection has a thread of its own.
    pub fn start<A: Into<Answer>>(answer: impl Fn(&Received) -> A + Send + Sync + 'static) -> Self {
        Self::start_at(0, answer)
    }

    /// The same at this port: for a host that was away and comes back.
    pub fn start_at<A: Into<Answer>>(port: u16, answer: impl Fn(&Received) -> A + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port of 127.0.0.1");
        let port = listener.local_addr().expect("the address just bound").port();
        let answer = Box::new(move |received: &Received| answer(received).into());
        let shared = Arc::new(Shared {
            received: Mutex::default(),
            ended: AtomicBool::new(false),
            hung_up: AtomicUsize::new(0),
            answer,
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.ended.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { port, shared }
    }

    /// Its port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a path that begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// All requests so far, in the order in which they were read.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().expect("no holder panics").clone()
    }

    /// How many peers have hung up on a `Silence` so far.
    pub fn hung_up(&self) -> usize {
        self.shared.hung_up.load(Ordering::SeqCst)
    }

    /// How many requests came so far.
    pub fn count(&self) -> usize {
        self.shared.received.lock().expect("no holder panics").len()
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Serves one connection until the peer closes it. A cut network is no failure here.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((first, headers, body)) = http::read(&mut reader, false)? {
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let received = Received { method, path, headers, body };
        shared.received.lock().map_err(|_| io::ErrorKind::Other)?.push(received.clone());
        let (status, headers, body) = match (shared.answer)(&received) {
            Answer::Status(status, body) => (status, Vec::new(), body),
            Answer::Full(status, headers, body) => (status, headers, body),
            Answer::Cut => return stream.shutdown(std::net::Shutdown::Both),
            Answer::Raw(bytes) => return writer.write_all(&bytes),
            Answer::Silence(bytes) => {
                writer.write_all(bytes.as_bytes())?;
                let _ = reader.read(&mut [0; 1]);
                shared.hung_up.fetch_add(1, Ordering::SeqCst);
                return Ok(());
            }
        };
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        writer.write_all((head + &body).as_bytes())?;
    }
    Ok(())
}
