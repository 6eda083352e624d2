//! Datagrams of clients and of memcached.

use cora::prelude::*;

use crate::binary;
use crate::command::{Command, number};

/// An item's name. memcached allows 250 bytes: items with longer names are not cached.
pub type Name = Bytes<38>;

/// An item's content. More than 1 KiB is not cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Value {
    pub flags: u32,
    pub data: Bytes<1024>,
}

impl Value {
    pub const NONE: Self = Self { flags: 0, data: Bytes::EMPTY };
}

/// A datagram of a client, or of memcached. Others pass unread.
#[message(udp, parse)]
pub enum Said {
    /// A client reads an item.
    Get {
        #[key]
        name: Name,
        request: u16,
    },
    /// A client sets an item. The answer comes to this request.
    Set {
        #[key]
        name: Name,
        request: u16,
        value: Value,
    },
    /// A client changes an item.
    Change {
        #[key]
        name: Name,
        request: u16,
        is_answered: bool,
    },
    /// memcached has an item.
    Value {
        #[key]
        name: Name,
        request: u16,
        value: Value,
    },
    /// memcached has executed a command that changes an item, and stored the data of a `set`.
    Executed {
        #[key]
        nobody: Name,
        request: u16,
        stored: bool,
    },
    /// A client ends all items, or says something that may change any.
    ChangeAll {
        #[key]
        nobody: Name,
        after: u32,
    },
}

/// Head of a datagram: the request's number, this datagram's, their count, and two bytes that are
/// reserved, and not zero with some clients.
const HEAD: usize = 8;

impl Parse for Said {
    fn parse(datagram: &[u8]) -> Result<Self, Reason> {
        let Some((&[high, low, 0, 0, 0, 1, _, _], said)) = datagram.split_first_chunk::<HEAD>()
        else {
            return Err(Malformed);
        };
        let request = u16::from_be_bytes([high, low]);
        match said.first() {
            Some(&binary::REQUEST) => Self::binary(said, request),
            Some(&binary::RESPONSE) => Err(Malformed),
            _ => Self::text(said, request),
        }
    }
}

impl Said {
    /// It may change any item.
    const UNREADABLE: Self = Self::ChangeAll { nobody: Name::EMPTY, after: 0 };

    fn text(said: &[u8], request: u16) -> Result<Self, Reason> {
        // Most datagrams are such, and need no more of a look.
        let name = said.strip_prefix(b"get ").and_then(|rest| rest.strip_suffix(b"\r\n"));
        if let Some(name) = name.filter(|name| !name.is_empty() && name.iter().all(|it| *it > b' '))
        {
            return Ok(Self::Get { name: Name::of(name)?, request });
        }
        let end = said.iter().position(|byte| *byte == b'\n').ok_or(Malformed)?;
        let (line, rest) = (&said[..end], &said[end + 1..]);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(name) = line.strip_prefix(b"VALUE ") {
            return Self::value(name, rest, request);
        }
        if let Some(stored) = executed(line) {
            return Ok(Self::Executed { nobody: Name::EMPTY, request, stored });
        }
        match Command::of(line) {
            Command::Get { name } if rest.is_empty() => {
                Ok(Self::Get { name: Name::of(name)?, request })
            }
            Command::Reads if rest.is_empty() => Err(Malformed),
            Command::Stores { name, length, set, is_answered } => {
                let data = rest.strip_suffix(b"\r\n").filter(|data| data.len() == length);
                let Some(data) = data else { return Ok(Self::UNREADABLE) };
                let (name, data) = (Name::of(name)?, Bytes::of(data));
                Ok(match (set, data) {
                    (Some(flags), Ok(data)) if is_answered => {
                        Self::Set { name, request, value: Value { flags, data } }
                    }
                    _ => Self::Change { name, request, is_answered },
                })
            }
            Command::Changes { name, is_answered } if rest.is_empty() => {
                Ok(Self::Change { name: Name::of(name)?, request, is_answered })
            }
            Command::Flushes { after } if rest.is_empty() => {
                Ok(Self::ChangeAll { nobody: Name::EMPTY, after })
            }
            _ => Ok(Self::UNREADABLE),
        }
    }

    /// `NAME FLAGS BYTES`, the data, and `END`: nothing else, and no number for `cas`.
    fn value(line: &[u8], rest: &[u8], request: u16) -> Result<Self, Reason> {
        let mut words = line.split(|byte| *byte == b' ');
        let name = Name::of(words.next().ok_or(Malformed)?)?;
        let mut next = || words.next().and_then(number).ok_or(Malformed);
        let (flags, length) = (next()?, next()? as usize);
        let data = rest.strip_suffix(b"\r\nEND\r\n").ok_or(Malformed)?;
        if words.next().is_some() || data.len() != length {
            return Err(Malformed);
        }
        Ok(Self::Value { name, request, value: Value { flags, data: Bytes::of(data)? } })
    }

    fn binary(said: &[u8], request: u16) -> Result<Self, Reason> {
        let whole = binary::Head::of(said).filter(|head| said.len() == head.whole());
        let Some(head) = whole else { return Ok(Self::UNREADABLE) };
        match head.does() {
            binary::Does::Reads => Err(Malformed),
            binary::Does::Changes => {
                let name = said.get(head.name()).ok_or(Malformed)?;
                Ok(Self::Change { name: Name::of(name)?, request, is_answered: false })
            }
            binary::Does::Unknown => Ok(Self::UNREADABLE),
        }
    }
}

/// Whether a line of memcached's says that a command was executed, and that it stored its data.
fn executed(line: &[u8]) -> Option<bool> {
    match line {
        b"STORED" => Some(true),
        b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" | b"DELETED" | b"TOUCHED" => Some(false),
        _ => None,
    }
}

impl Compose for Said {
    /// Writes the one thing that the cache says itself: an item.
    fn compose(&self, out: &mut Text<'_, '_>) {
        if let Self::Value { name, request, value } = self {
            value.say(name, *request, out);
        }
    }
}

impl Value {
    /// Writes the answer to a `get` of the item with this name.
    pub fn say(&self, name: &Name, request: u16, out: &mut Text<'_, '_>) {
        let Self { flags, data } = self;
        out.put(&request.to_be_bytes()).put(&[0, 0, 0, 1, 0, 0]).put(b"VALUE ").put(name);
        out.put(b" ").number(u64::from(*flags)).put(b" ").number(data.len() as u64);
        out.put(b"\r\n").put(data).put(b"\r\nEND\r\n");
    }
}
