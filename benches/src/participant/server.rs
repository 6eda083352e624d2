//! A participant by hand: a UDP server as one writes it without Cora, with a loop over a socket and
//! a hash table. It speaks the wire form of the example `transactions`, and does the same; but it
//! keeps no copies of its rows.

use std::io::Result;
use std::net::UdpSocket;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Bytes of a row's value.
const VALUE: usize = 40;
/// Bytes of the longest answer.
const LONGEST: usize = 1 + 4 + VALUE;

/// A row, as in the example.
#[derive(Clone, Copy, Debug)]
struct Row {
    version: u32,
    lock: u64,
    value: [u8; VALUE],
}

/// The rows.
#[derive(Debug)]
pub(super) struct Participant {
    rows: HashMap<u64, Row, FixedState>,
}

impl Participant {
    /// One with room for so many rows.
    pub(super) fn new(rows: usize) -> Self {
        Self { rows: HashMap::with_capacity_and_hasher(rows, FixedState::default()) }
    }

    /// Takes a step, and writes the answer; returns its length. `None`: it is no step.
    pub(super) fn take(&mut self, step: &[u8], out: &mut [u8; LONGEST]) -> Option<usize> {
        let (row, rest) = step.split_first_chunk()?;
        let (transaction, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let transaction = u64::from_le_bytes(*transaction);
        let row = self.rows.entry(u64::from_le_bytes(*row));
        let row = row.or_insert(Row { version: 0, lock: 0, value: [0; VALUE] });
        let holds = row.lock == transaction;
        out[0] = match (kind, rest) {
            (0, []) => {
                out[1..5].copy_from_slice(&row.version.to_le_bytes());
                out[5..].copy_from_slice(&row.value);
                out[0] = 0;
                return Some(LONGEST);
            }
            (1, version) => {
                let version = u32::from_le_bytes(version.try_into().ok()?);
                let grants = holds || row.lock == 0 && row.version == version;
                if grants {
                    row.lock = transaction;
                }
                if grants { 1 } else { 2 }
            }
            (2, value) => {
                let value = value.try_into().ok()?;
                if holds {
                    *row = Row { version: row.version + 1, lock: 0, value };
                }
                3
            }
            (3, []) => {
                if holds {
                    row.lock = 0;
                }
                3
            }
            _ => return None,
        };
        Some(1)
    }

    /// Answers at the socket until this process is ended.
    pub(super) fn serve(&mut self, socket: &UdpSocket) -> Result<()> {
        let (mut buffer, mut out) = ([0; 2048], [0; LONGEST]);
        loop {
            let (length, from) = socket.recv_from(&mut buffer)?;
            if let Some(length) = self.take(&buffer[..length], &mut out) {
                socket.send_to(&out[..length], from)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step's answer.
    fn answer(participant: &mut Participant, transaction: u8, step: &[u8]) -> Option<Vec<u8>> {
        let row_and_transaction = [9, 0, 0, 0, 0, 0, 0, 0, transaction, 0, 0, 0, 0, 0, 0, 0];
        let mut out = [0; LONGEST];
        let length = participant.take(&[&row_and_transaction, step].concat(), &mut out)?;
        Some(out[..length].to_vec())
    }

    #[test]
    fn a_row_is_changed_by_the_transaction_that_locked_it() {
        let mut it = Participant::new(16);
        let read = |it: &mut _| answer(it, 1, &[0]).map(|is| (is[1], is[5]));
        assert_eq!(read(&mut it), Some((0, 0)));
        assert_eq!(answer(&mut it, 1, &[1, 1, 0, 0, 0]), Some(vec![2]), "another version");
        assert_eq!(answer(&mut it, 1, &[1, 0, 0, 0, 0]), Some(vec![1]));
        assert_eq!(answer(&mut it, 2, &[1, 0, 0, 0, 0]), Some(vec![2]), "another has the lock");
        assert_eq!(answer(&mut it, 2, &[&[2][..], &[7; 40]].concat()), Some(vec![3]));
        assert_eq!(read(&mut it), Some((0, 0)), "that was not its lock");
        assert_eq!(answer(&mut it, 1, &[&[2][..], &[7; 40]].concat()), Some(vec![3]));
        assert_eq!(read(&mut it), Some((1, 7)));
        assert_eq!(answer(&mut it, 1, &[4]), None);
        assert_eq!(answer(&mut it, 1, &[0, 0]), None, "more behind it");
    }
}
