//! HTTP as tests need it: one request on one connection, and the reading of a message for the web hook.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Response {
    /// A header's value, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("JSON was expected, {error}: {self:?}"))
    }
}

/// Sends one request to a port of 127.0.0.1. Headers are pairs of name and value.
pub fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Response> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        if header(&pairs(headers), "content-type").is_none() {
            text.push_str("Content-Type: application/json\r\n");
        }
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{text}\r\n{body}").as_bytes())?;
    let mut reader = BufReader::new(stream);
    let (first, headers, body) = read(&mut reader, method != "HEAD")?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status in {first:?}")))?;
    Ok(Response { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// One message: its first line, headers with names in small letters, body.
pub(crate) type Message = (String, Vec<(String, String)>, Vec<u8>);

/// Reads one message, or nothing if the peer has closed. An answer without a length is read to the end.
pub(crate) fn read(reader: &mut impl BufRead, to_the_end: bool) -> io::Result<Option<Message>> {
    let first = line(reader)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut body = Vec::new();
    if header(&headers, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = usize::from_str_radix(line(reader)?.split(';').next().unwrap_or("").trim(), 16);
            let size = size.map_err(io::Error::other)?;
            reader.take(size as u64).read_to_end(&mut body)?;
            line(reader)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = header(&headers, "content-length").and_then(|length| length.parse().ok()) {
        reader.take(length).read_to_end(&mut body)?;
    } else if to_the_end && first.starts_with("HTTP/") {
        reader.read_to_end(&mut body)?;
    }
    Ok(Some((first, headers, body)))
}

pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_lowercase(), (*value).to_owned())).collect()
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}
