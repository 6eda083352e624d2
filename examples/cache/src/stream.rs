//! Commands to memcached by TCP: read for changes alone, all of them pass.
//!
//! Commands are found one behind the other from a connection's first byte on. Where that fails, the
//! connection is lost to sight: then each of its segments may change any item.

use cora::prelude::*;

use crate::binary;
use crate::command::Command;

/// Most bytes of data in one message.
pub const PIECE: usize = 1_460;
/// Most bytes of a command that are kept until the rest has come: more than a line has that stores
/// something, or a head with its name.
const HELD: usize = 336;

/// A piece of a client's stream.
#[message]
pub struct Segment {
    #[key]
    pub connection: FiveTuple,
    pub sequence: u32,
    pub is: Is,
    pub data: Bytes<PIECE>,
}

/// A segment, by its flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Is {
    Opening,
    Data,
    Closing,
    Reset,
}

/// A client's stream so far.
#[state(key = FiveTuple, capacity = 16_384, idle = "2h")]
pub struct Stream {
    /// The number of the next byte.
    next: u32,
    reads: Reads,
    /// The beginning of a command.
    held: Bytes<HELD>,
}

/// The next thing in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Reads {
    /// The first byte, which tells the protocol.
    First,
    /// A line.
    Line,
    /// So many bytes of an item's data, and the end of a line.
    Data { left: u32 },
    /// The end of the line behind an item's data.
    DataEnd,
    /// The rest of a line that changes nothing.
    RestOfLine,
    /// A head of the binary protocol, with the name.
    Head,
    /// So many bytes of a binary request.
    Body { left: u32 },
    /// Nobody knows.
    Lost,
}

/// Hears of items that a segment may have changed.
pub trait Changes {
    /// This item. Says whether there was room to tell.
    fn item(&mut self, name: &[u8]) -> bool;
    /// Any item, in so many seconds from now.
    fn any(&mut self, after: u32);
}

impl Stream {
    /// Behind the segment that opens the connection.
    pub const fn opened(sequence: u32) -> Self {
        Self { next: sequence.wrapping_add(1), reads: Reads::First, held: Bytes::EMPTY }
    }

    /// Of a connection that was open before anybody looked.
    pub const fn unseen() -> Self {
        Self { next: 0, reads: Reads::Lost, held: Bytes::EMPTY }
    }

    /// Reads a segment's data.
    pub fn read(&mut self, sequence: u32, data: &[u8], to: &mut impl Changes) {
        if data.is_empty() {
            return;
        }
        let before = self.next.wrapping_sub(sequence);
        let new = match (self.reads, before) {
            (Reads::Lost, _) => None,
            (_, 0) => Some(data),
            // memcached may see these bytes for the first time now, and others than went before.
            (_, before) if before <= i32::MAX as u32 => {
                to.any(0);
                Some(data.get(before as usize..).unwrap_or_default())
            }
            // Bytes are missing in between.
            _ => None,
        };
        if !new.is_some_and(|new| self.commands(new, to)) {
            self.reads = Reads::Lost;
            to.any(0);
        }
    }

    /// Reads on. Says whether it could.
    fn commands(&mut self, mut data: &[u8], to: &mut impl Changes) -> bool {
        self.next = self.next.wrapping_add(data.len() as u32);
        // A round reads a byte at least, or knows by which protocol.
        for _ in 0..=2 * data.len() {
            let Some(first) = data.first() else { return true };
            match self.reads {
                Reads::First => {
                    self.reads = if *first == binary::REQUEST { Reads::Head } else { Reads::Line };
                }
                Reads::Data { left } | Reads::Body { left } => {
                    let here = (left as usize).min(data.len());
                    data = &data[here..];
                    self.left(left - here as u32);
                }
                Reads::Head => {
                    if !self.head(&mut data, to) {
                        return false;
                    }
                }
                Reads::Line | Reads::DataEnd | Reads::RestOfLine => {
                    if !self.line(&mut data, to) {
                        return false;
                    }
                }
                Reads::Lost => return false,
            }
        }
        false
    }

    /// So many bytes are left.
    const fn left(&mut self, left: u32) {
        self.reads = match (self.reads, left) {
            (Reads::Data { .. }, 0) => Reads::DataEnd,
            (_, 0) => Reads::Head,
            (Reads::Data { .. }, left) => Reads::Data { left },
            (_, left) => Reads::Body { left },
        };
    }

    /// Reads on in a line.
    fn line(&mut self, data: &mut &[u8], to: &mut impl Changes) -> bool {
        let end = data.iter().position(|byte| *byte == b'\n');
        let (line, rest) = data.split_at(end.map_or(data.len(), |end| end + 1));
        *data = rest;
        if self.reads == Reads::RestOfLine {
            if end.is_some() {
                self.reads = Reads::Line;
            }
            return true;
        }
        let fits = line.len().min(HELD - self.held.len());
        let Some(held) = join(&self.held, &line[..fits]) else { return false };
        if fits < line.len() {
            self.held = Bytes::EMPTY;
            self.reads = if end.is_some() { Reads::Line } else { Reads::RestOfLine };
            // Only a question with many names is so long.
            return held.starts_with(b"get ") || held.starts_with(b"gets ");
        }
        if end.is_none() {
            self.held = held;
            return true;
        }
        self.held = Bytes::EMPTY;
        if self.reads == Reads::DataEnd {
            self.reads = Reads::Line;
            return *held == *b"\r\n";
        }
        let line = held.strip_suffix(b"\n").unwrap_or(&held);
        match Command::of(line.strip_suffix(b"\r").unwrap_or(line)) {
            Command::Get { .. } | Command::Reads => {}
            Command::Changes { name, .. } => return to.item(name),
            Command::Flushes { after } => to.any(after),
            Command::Stores { name, length, .. } => {
                let Ok(left) = u32::try_from(length) else { return false };
                self.reads = if left == 0 { Reads::DataEnd } else { Reads::Data { left } };
                return to.item(name);
            }
            Command::Unknown => return false,
        }
        true
    }

    /// Reads on in a binary request's head and name.
    fn head(&mut self, data: &mut &[u8], to: &mut impl Changes) -> bool {
        let wanted = match binary::Head::of(&self.held) {
            Some(head) => head.name().end,
            None if self.held.len() < binary::HEAD => binary::HEAD,
            None => return false,
        };
        let (here, rest) = data.split_at(data.len().min(wanted - self.held.len()));
        *data = rest;
        let Some(held) = join(&self.held, here) else { return false };
        self.held = held;
        let Some(head) = binary::Head::of(&self.held) else {
            return self.held.len() < binary::HEAD;
        };
        if self.held.len() < head.name().end {
            return true;
        }
        let is_told = match head.does() {
            binary::Does::Reads => true,
            binary::Does::Changes => to.item(self.held.get(head.name()).unwrap_or_default()),
            binary::Does::Unknown => {
                to.any(0);
                true
            }
        };
        let Ok(left) = u32::try_from(head.whole() - head.name().end) else { return false };
        (self.held, self.reads) = (Bytes::EMPTY, Reads::Body { left });
        self.left(left);
        is_told
    }
}

/// Both, one behind the other, if there is room.
fn join(held: &Bytes<HELD>, more: &[u8]) -> Option<Bytes<HELD>> {
    let mut both = [0; HELD];
    let (first, rest) = both.split_at_mut_checked(held.len())?;
    first.copy_from_slice(held);
    rest.get_mut(..more.len())?.copy_from_slice(more);
    Bytes::of(both.get(..held.len() + more.len())?).ok()
}
