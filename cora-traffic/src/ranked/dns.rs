//! Messages of the DNS (RFC 1035): a question, and its answer with the same identifier and name.

use crate::wire::{self, Path, UDP};

/// A standard question that wants recursion, and a standard answer with it.
const QUESTION: u16 = 0x0100;
const ANSWER: u16 = 0x8180;
const TXT: u16 = 16;
const INTERNET: u16 = 1;
/// The pseudo record of EDNS (RFC 6891) and its option to pad a message (RFC 7830).
const OPT: u16 = 41;
const PADDING: u16 = 12;
/// The payload of UDP that the sender takes.
const TAKES: u16 = 1_232;
/// Points to the question's name, behind the header of twelve octets.
const SAME_NAME: u16 = 0xc00c;
/// Longest string in a record of text.
const STRING: usize = 255;

/// Makes a message whose identifier and name follow from `seed`, in a frame of `bytes`. It is
/// shorter if the rest has no room for a record: a question is padded by an option, and an answer
/// has text.
pub(super) fn frame(path: &Path, seed: u64, is_answer: bool, bytes: u16) -> Vec<u8> {
    let room = usize::from(bytes).saturating_sub(14 + 20 + 8);
    let mut message = question(seed, is_answer);
    let rest = room.saturating_sub(message.len());
    let record = if is_answer { text(rest) } else { padding(rest) };
    if let Some(record) = record {
        // One answer, or one additional record.
        message[if is_answer { 7 } else { 11 }] = 1;
        message.extend(record);
    }
    wire::frame(path, UDP, &wire::udp(path, &message, true))
}

/// A header, and a question for a text of a name of four letters.
fn question(seed: u64, is_answer: bool) -> Vec<u8> {
    let flags = if is_answer { ANSWER } else { QUESTION };
    let mut message = words(&[seed as u16, flags, 1, 0, 0, 0]);
    message.push(4);
    message.extend([16, 24, 32, 40].map(|shift| b'a' + ((seed >> shift) as u8 % 26)));
    message.push(0);
    message.extend(words(&[TXT, INTERNET]));
    message
}

/// A record of text with this length in all, if one can have it.
fn text(length: usize) -> Option<Vec<u8>> {
    let data = length.checked_sub(12).filter(|data| *data > 0)?;
    let mut record = words(&[SAME_NAME, TXT, INTERNET, 0, 60, data as u16]);
    let mut left = data;
    while left > 0 {
        let string = (left - 1).min(STRING);
        record.push(string as u8);
        record.extend(std::iter::repeat_n(b'x', string));
        left -= 1 + string;
    }
    Some(record)
}

/// A pseudo record with an option of padding, of this length in all, if it can have it.
fn padding(length: usize) -> Option<Vec<u8>> {
    let zeros = length.checked_sub(15)?;
    let mut record = vec![0];
    record.extend(words(&[OPT, TAKES, 0, 0, zeros as u16 + 4, PADDING, zeros as u16]));
    record.extend(std::iter::repeat_n(0, zeros));
    Some(record)
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}
