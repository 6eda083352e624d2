//! The effect of a client's command on items (memcached's doc/protocol.txt).

/// Most bytes of a name, as memcached has it.
const LONGEST_NAME: usize = 250;

/// A command, by its effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// Reads one item.
    Get { name: &'a [u8] },
    /// Changes no item.
    Reads,
    /// Changes an item, with so many bytes of data behind the line.
    Stores { name: &'a [u8], length: usize, set: Option<u32>, is_answered: bool },
    /// Changes an item.
    Changes { name: &'a [u8], is_answered: bool },
    /// Ends all items, after so many seconds.
    Flushes { after: u32 },
    /// May change any item, or have data behind it: a command that is not known here.
    Unknown,
}

/// The words of a line.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// The next word, if it can be a name.
fn name<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    words.next().filter(|name| name.len() <= LONGEST_NAME)
}

/// A number in decimal digits.
pub fn number(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > 10 {
        return None;
    }
    let mut number = 0_u32;
    for digit in word {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(number)
}

impl<'a> Command<'a> {
    /// Reads a line, without its end.
    pub fn of(line: &'a [u8]) -> Self {
        let mut words = words(line);
        let Some(verb) = words.next() else { return Self::Unknown };
        match verb {
            b"get" => {
                let name = words.next().unwrap_or_default();
                if name.is_empty() || words.next().is_some() {
                    Self::Reads
                } else {
                    Self::Get { name }
                }
            }
            b"gets" | b"stats" | b"version" | b"verbosity" | b"mn" | b"me" | b"quit" => Self::Reads,
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
                Self::stores(verb, words).unwrap_or(Self::Unknown)
            }
            b"delete" | b"incr" | b"decr" | b"touch" => Self::changes(words),
            b"gat" | b"gats" => Self::touches(words),
            b"flush_all" => Self::flushes(words),
            b"mg" | b"md" | b"ma" => Self::meta(verb, words),
            b"ms" => Self::meta_stores(words).unwrap_or(Self::Unknown),
            _ => Self::Unknown,
        }
    }

    /// `set NAME FLAGS EXPIRY BYTES`, and `cas` with one word more.
    fn stores(verb: &[u8], mut words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let name = name(&mut words)?;
        let (flags, expiry) = (number(words.next()?)?, words.next()?);
        let length = number(words.next()?)? as usize;
        if verb == b"cas" {
            words.next()?;
        }
        let is_answered = match (words.next(), words.next()) {
            (None, _) => true,
            (Some(b"noreply"), None) => false,
            _ => return None,
        };
        // Of an item that expires, nobody here knows until when it stands.
        let set = (verb == b"set" && expiry == b"0").then_some(flags);
        Some(Self::Stores { name, length, set, is_answered })
    }

    /// `delete NAME`, `incr NAME BY`, `touch NAME EXPIRY`.
    fn changes(mut words: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(name) = name(&mut words) else {
            return Self::Unknown;
        };
        Self::Changes { name, is_answered: words.all(|word| word != b"noreply") }
    }

    /// `gat EXPIRY NAME`, with more names perhaps.
    fn touches(mut words: impl Iterator<Item = &'a [u8]>) -> Self {
        match (words.next(), words.next(), words.next()) {
            (Some(_), Some(name), None) if name.len() <= LONGEST_NAME => {
                Self::Changes { name, is_answered: false }
            }
            _ => Self::Unknown,
        }
    }

    /// `flush_all`, after so many seconds perhaps.
    fn flushes(mut words: impl Iterator<Item = &'a [u8]>) -> Self {
        match words.next() {
            None | Some(b"noreply") => Self::Flushes { after: 0 },
            Some(after) => number(after).map_or(Self::Unknown, |after| Self::Flushes { after }),
        }
    }

    /// `mg NAME FLAGS`, `md`, `ma`. With the flag `b` the name is written in base64.
    fn meta(verb: &[u8], mut words: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(name) = name(&mut words) else {
            return Self::Unknown;
        };
        let (mut changes, mut encoded) = (verb != b"mg", false);
        for flag in words {
            encoded |= flag == b"b";
            // It sets the number, makes the item, wins the right to write it, or touches it.
            changes |= matches!(flag.first(), Some(b'E' | b'N' | b'R' | b'T'));
        }
        match (changes, encoded) {
            (false, _) => Self::Reads,
            (true, false) => Self::Changes { name, is_answered: false },
            (true, true) => Self::Unknown,
        }
    }

    /// `ms NAME BYTES FLAGS`.
    fn meta_stores(mut words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let name = name(&mut words)?;
        let length = number(words.next()?)? as usize;
        if words.any(|flag| flag == b"b") {
            return None;
        }
        Some(Self::Stores { name, length, set: None, is_answered: false })
    }
}
