//! `soloist status --watch`: one look after another. On a terminal each is drawn over the one before, on a screen of its
//! own that goes when the command ends, however it ends; elsewhere they follow each other.

use std::time::Duration;

use rustix::process::{Signal as Sent, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Look, text};
use crate::cli::{output, table};
use crate::error::{Error, Result};
use crate::store::status::Status;

/// How long after one look comes the next.
const AGAIN: Duration = Duration::from_secs(2);

/// Its own screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Looks until it is told to stop; what was seen last.
pub(super) fn watch(json: bool, look: Look) -> Result<Option<Status>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::internal(format!("waiting for signals: {error}")))?;
    let drawn = !json && output::is_terminal();
    let result = {
        let _screen = drawn.then(Screen::enter).transpose()?;
        runtime.block_on(again_and_again(json, drawn, look))
    };
    // A look at a database that does not answer must not hold up the end.
    runtime.shutdown_background();
    result
}

async fn again_and_again(json: bool, drawn: bool, mut look: Look) -> Result<Option<Status>> {
    let mut signals = Signals::new()?;
    let mut last: Option<Status> = None;
    loop {
        let mut looking = tokio::task::spawn_blocking(move || {
            let state = look.again();
            (look, state)
        });
        let state = loop {
            tokio::select! {
                looked = &mut looking => {
                    let (again, state) = looked.map_err(Error::internal)?;
                    look = again;
                    break state?;
                }
                heard = signals.next() => match heard {
                    Heard::Stop => return Ok(last),
                    other => other.obey(last.as_ref().filter(|_| drawn))?,
                }
            }
        };
        match (json, drawn) {
            (true, _) => output::json(&state)?,
            (false, true) => draw(&state)?,
            (false, false) => output::line(format!("{}\n", text::of(&state)))?,
        }
        last = Some(state);
        let pause = tokio::time::sleep(AGAIN);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                heard = signals.next() => match heard {
                    Heard::Stop => return Ok(last),
                    other => other.obey(last.as_ref().filter(|_| drawn))?,
                }
            }
        }
    }
}

/// Draws a state over what is there: line by line, so that nothing is blank in between.
fn draw(state: &Status) -> Result<()> {
    let (width, height) = table::size().unwrap_or((80, 24));
    let head = format!("{}   every {} s, Ctrl-C ends", crate::cli::time_text::shown(state.as_of), AGAIN.as_secs());
    let all = format!("{head}\n\n{}", text::of(state));
    let lines: Vec<_> = all.lines().flat_map(|line| wrapped(line, width.into())).collect();
    let room = usize::from(height).max(2);
    let mut frame = String::from("\x1b[H");
    let cut = lines.len() > room;
    for (place, line) in lines.iter().take(if cut { room - 1 } else { room }).enumerate() {
        if place > 0 {
            frame.push_str("\r\n");
        }
        frame.push_str(line);
        frame.push_str("\x1b[K");
    }
    if cut {
        frame.push_str(&format!("\r\n… {} more lines: soloist status\x1b[K", lines.len() - room + 1));
    }
    frame.push_str("\x1b[J");
    output::raw(frame)
}

/// A line in pieces of at most `width` characters, cut at blanks where there are some, each as far in as the first.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (mut pieces, mut piece, mut columns) = (Vec::new(), String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = visible(word);
        if columns > indent && columns + visible(word.trim_end()) > width {
            pieces.push(std::mem::replace(&mut piece, " ".repeat(indent)));
            columns = indent;
        }
        piece.push_str(word);
        columns += length;
    }
    pieces.push(piece);
    pieces.into_iter().map(|piece| piece.trim_end().to_owned()).collect()
}

/// Characters that take room: those of colours do not.
fn visible(text: &str) -> usize {
    let mut in_escape = false;
    let takes_room = |c: &char| {
        let was = in_escape;
        in_escape = *c == '\x1b' || (in_escape && *c != 'm');
        !was && !in_escape
    };
    text.chars().filter(takes_room).count()
}

/// The screen of its own, for as long as this lives.
struct Screen;

impl Screen {
    fn enter() -> Result<Self> {
        output::raw(ENTER)?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = output::raw(LEAVE);
    }
}

struct Signals {
    stop: [Signal; 3],
    suspend: Signal,
    resize: Signal,
}

enum Heard {
    Stop,
    Suspend,
    Resize,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).map_err(|error| Error::internal(format!("signals cannot be heard: {error}")));
        Ok(Self {
            stop: [listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?],
            suspend: listen(SignalKind::from_raw(libc::SIGTSTP))?,
            resize: listen(SignalKind::window_change())?,
        })
    }

    async fn next(&mut self) -> Heard {
        let [interrupt, terminate, hang_up] = &mut self.stop;
        tokio::select! {
            _ = interrupt.recv() => Heard::Stop,
            _ = terminate.recv() => Heard::Stop,
            _ = hang_up.recv() => Heard::Stop,
            _ = self.suspend.recv() => Heard::Suspend,
            _ = self.resize.recv() => Heard::Resize,
        }
    }
}

impl Heard {
    /// Draws anew, after a stop by Ctrl-Z for as long as that lasts; `state` if one is drawn.
    fn obey(self, state: Option<&Status>) -> Result<()> {
        if let Self::Suspend = self {
            if state.is_some() {
                output::raw(LEAVE)?;
            }
            kill_process(getpid(), Sent::STOP).map_err(Error::internal)?;
            if state.is_some() {
                output::raw(ENTER)?;
            }
        }
        state.map_or(Ok(()), draw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_blanks_and_colours_take_no_room() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("\x1b[31mBROKEN \x1b[0m it", 9), ["\x1b[31mBROKEN \x1b[0m", "it"]);
        assert_eq!(wrapped("  one two", 6), ["  one", "  two"]);
        assert_eq!(wrapped("", 7), [""]);
        assert_eq!(wrapped("unbreakable", 4), ["unbreakable"]);
    }
}
