//! The words of other processes of a run: each has a pipe to the supervisor in the place of
//! standard error.
//!
//! A process with such a pipe writes each line of its log with a header: level, part, call site.
//! Lines without one are its bare words: a panic, or the output of a handler. A NIC half is not
//! trusted: it has one kind of line alone, whatever its headers say. Nobody can write a control
//! character to the log of a supervisor.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, Stdio};

use rustix::fs::OFlags;

use super::Line;
use super::levels::{Level, Part};
use super::limit::Site;

/// The environment variable of a process whose standard error is such a pipe.
pub(super) const VARIABLE: &str = "CORA_LOG_IS_READ";

/// The first byte of a header.
const HEADER: u8 = 1;
/// Bytes of a header: that byte, level, part, and call site in hexadecimal.
const HEADER_BYTES: usize = 3 + 16;
/// Stands for a line feed inside a text.
const LINE_FEED: char = '\u{1e}';
/// Maximum number of bytes of a text: the kernel writes such a line to a pipe as a whole.
const LONGEST: usize = 4000;
/// Maximum number of bytes that are read from a pipe at once: its capacity.
const AT_ONCE: usize = 64 << 10;

/// Who writes to a pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    part: Part,
    /// The level of lines without a header.
    bare: Level,
    is_trusted: bool,
}

impl Source {
    /// A NIC half of this machine.
    pub(crate) const NIC: Self = Self { part: Part::Nic, bare: Level::Warn, is_trusted: false };
    /// A NIC half that an agent runs for somebody.
    pub(crate) const TENANT: Self = Self { part: Part::Nic, bare: Level::Warn, is_trusted: false };
    pub(crate) const HOST: Self = Self { part: Part::Host, bare: Level::Warn, is_trusted: true };
    /// A process between this run and a card.
    pub(crate) const LINK: Self = Self { part: Part::Card, bare: Level::Warn, is_trusted: true };
    /// An emulated card, whose console this is.
    pub(crate) const CONSOLE: Self =
        Self { part: Part::Card, bare: Level::Info, is_trusted: false };

    /// The line in these bytes.
    fn line(self, bytes: &[u8]) -> Line {
        let known = header(bytes).map(|(level, part, site, text)| {
            let (part, site) = if self.is_trusted { (part, site) } else { (self.part, 0) };
            let text = shown(text).replace(LINE_FEED, "\n");
            Line { site, is_bare: !self.is_trusted, ..Line::now(part, level, text) }
        });
        known.unwrap_or_else(|| Line {
            is_bare: true,
            ..Line::now(self.part, self.bare, shown(bytes).replace(LINE_FEED, " "))
        })
    }
}

/// A line as such a process writes it.
pub(super) fn with_header(line: &Line) -> String {
    let Line { level, part, site, text, .. } = line;
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let (text, cut) = if text.len() > LONGEST { (&text[..end], "…") } else { (&text[..], "") };
    let text = text.replace('\n', LINE_FEED.encode_utf8(&mut [0; 4]));
    let (level, part) = (digit(*level as u8), digit(*part as u8));
    format!("{}{level}{part}{site:016x}{text}{cut}\n", char::from(HEADER))
}

const fn digit(number: u8) -> char {
    (b'a' + number) as char
}

/// Level, part, call site and text of a line with a header.
fn header(bytes: &[u8]) -> Option<(Level, Part, Site, &[u8])> {
    let (header, text) = bytes.split_at_checked(HEADER_BYTES)?;
    let [HEADER, level, part, site @ ..] = header else { return None };
    let number = |digit: u8| usize::from(digit.wrapping_sub(b'a'));
    let level = *Level::ALL.get(number(*level)).filter(|level| **level != Level::Off)?;
    let part = *Part::ALL.get(number(*part))?;
    let site = Site::from_str_radix(std::str::from_utf8(site).ok()?, 16).ok()?;
    Some((level, part, site, text))
}

/// The text in these bytes, without anything that a terminal obeys.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown = String::with_capacity(text.len());
    for letter in text.trim_end().chars() {
        if letter.is_control() && letter != '\t' && letter != LINE_FEED {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Makes standard error of this command a pipe to this log, and standard output, too, if it
/// `prints`. Returns the reading end. Without a free descriptor its words are lost.
pub(super) fn pipe_of(command: &mut Command, prints: bool) -> Option<OwnedFd> {
    let ends = || {
        let (reads, writes) = std::io::pipe().ok()?;
        // The other end has flags of its own: its writers wait for room.
        rustix::fs::fcntl_setfl(&reads, OFlags::NONBLOCK).ok()?;
        Some((OwnedFd::from(reads), writes.try_clone().ok()?, writes))
    };
    let Some((reads, writes, more)) = ends() else {
        command.stderr(Stdio::null());
        return None;
    };
    if prints {
        command.stdout(Stdio::from(more));
    }
    command.stderr(Stdio::from(writes)).env(VARIABLE, "1");
    Some(reads)
}

/// The reading end of a pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) file: OwnedFd,
    source: Source,
    /// The beginning of a line.
    rest: Vec<u8>,
}

/// The state of a pipe after a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// It was read only in part, so that others get their turn.
    More,
    /// All writers are gone.
    Closed,
}

impl Pipe {
    pub(super) const fn new(file: OwnedFd, source: Source) -> Self {
        Self { file, source, rest: Vec::new() }
    }

    /// Reads the lines that are there.
    pub(super) fn read(&mut self, lines: &mut Vec<Line>) -> Left {
        let mut bytes = [0; 4096];
        let mut taken = 0;
        while taken < AT_ONCE {
            match rustix::io::read(self.file.as_fd(), &mut bytes) {
                Ok(0) => {
                    if !self.rest.is_empty() {
                        lines.push(self.source.line(&self.rest));
                    }
                    return Left::Closed;
                }
                Ok(length) => {
                    taken += length;
                    self.rest.extend(bytes.iter().take(length));
                    self.take_lines(lines);
                }
                Err(errno) => {
                    let kind = std::io::Error::from(errno).kind();
                    let waits = matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted);
                    return if waits { Left::Nothing } else { Left::Closed };
                }
            }
        }
        Left::More
    }

    fn take_lines(&mut self, lines: &mut Vec<Line>) {
        let mut rest = &self.rest[..];
        loop {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let longest = HEADER_BYTES + LONGEST + "…".len();
            let (end, next) = match end {
                Some(end) if end <= longest => (end, end + 1),
                // Too long for a line: its pieces become lines.
                _ if rest.len() > longest => (longest, longest),
                _ => break,
            };
            let line = &rest[..end];
            if !line.trim_ascii().is_empty() {
                lines.push(self.source.line(line));
            }
            rest = &rest[next..];
        }
        self.rest = rest.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn told(source: Source, bytes: &[u8]) -> Vec<Line> {
        let (reads, mut writes) = std::io::pipe().expect("a pipe");
        rustix::fs::fcntl_setfl(&reads, OFlags::NONBLOCK).expect("its flags");
        writes.write_all(bytes).expect("room");
        drop(writes);
        let (mut pipe, mut lines) = (Pipe::new(reads.into(), source), Vec::new());
        assert_eq!(pipe.read(&mut lines), Left::Closed);
        lines
    }

    #[test]
    fn a_line_comes_through_a_pipe_as_it_was_said() {
        for level in &Level::ALL[1..] {
            for part in Part::ALL {
                let text = format!("ä\tline\nof {}", part.name());
                let said = Line { site: u64::MAX - 7, ..Line::now(part, *level, text) };
                let heard = told(Source::HOST, with_header(&said).as_bytes());
                assert_eq!(heard.len(), 1);
                let heard = &heard[0];
                assert_eq!((heard.level, heard.part, heard.site), (*level, part, said.site));
                assert_eq!((&heard.text, heard.is_bare), (&said.text, false));
            }
        }
        let long = Line::now(Part::Run, Level::Info, "ä".repeat(LONGEST));
        let written = with_header(&long);
        assert!(written.len() <= 4096 && written.ends_with("ä…\n"));
        assert_eq!(told(Source::HOST, written.as_bytes()).len(), 1);
    }

    #[test]
    fn bare_words_are_lines_of_their_process_and_obey_nobody() {
        let heard = told(Source::HOST, b"thread panicked\n\n at \x1b[2Jhome\r\nlast \xff");
        let text: Vec<_> = heard.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(text, ["thread panicked", " at \\u{1b}[2Jhome", "last \u{fffd}"]);
        assert!(heard.iter().all(|line| line.is_bare && line.part == Part::Host));
        // Pieces of a line without an end.
        let heard = told(Source::CONSOLE, &[b'x'; 9000]);
        assert_eq!(heard.iter().map(|line| line.text.len()).sum::<usize>(), 9000);
        assert_eq!(heard.len(), 3);
    }

    #[test]
    fn a_nic_half_has_one_kind_of_line_whatever_it_says() {
        let said = |site| Line { site, ..Line::now(Part::Control, Level::Error, "x".into()) };
        let bytes: String = (1..4).map(|site| with_header(&said(site))).collect();
        let heard = told(Source::NIC, bytes.as_bytes());
        assert_eq!(heard.len(), 3);
        for line in heard {
            assert_eq!((line.part, line.site, line.is_bare), (Part::Nic, 0, true));
        }
        // Headers that are none.
        for wrong in ["\u{1}aa0000000000000000x", "\u{1}bz0000000000000000x", "\u{1}bb00x"] {
            let heard = told(Source::HOST, wrong.as_bytes());
            assert!(heard[0].is_bare && heard[0].part == Part::Host, "{wrong}");
        }
    }
}
