//! A participant by hand: a UDP server as one writes it without Cora, with a loop over a socket and
//! a hash table. It speaks the wire form of the example `transactions`, and does the same; but it
//! keeps no copies of its rows.

use std::io::Result;
use std::net::UdpSocket;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Bytes of a row's value.
const VALUE: usize = 40;
/// Bytes before the step, and before the vote.
const HEAD: usize = 25;
/// Bytes of the longest answer.
const LONGEST: usize = HEAD + 1 + 4 + VALUE + 1;

/// A row, as in the example. The lock is a transaction: a client, and a number.
#[derive(Clone, Copy, Debug)]
struct Row {
    version: u32,
    lock: Option<[u64; 2]>,
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

    /// Takes a step, and writes the vote; returns its length. `None`: it is no step.
    pub(super) fn take(&mut self, step: &[u8], out: &mut [u8; LONGEST]) -> Option<usize> {
        let (&[0], rest) = step.split_first_chunk()? else { return None };
        let (row, rest) = number(rest)?;
        let (client, rest) = number(rest)?;
        let (transaction, rest) = number(rest)?;
        let (kind, rest) = rest.split_first()?;
        let by = [client, transaction];
        out[0] = 1;
        for (place, number) in out[1..HEAD].chunks_mut(8).zip([client, transaction, row]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let new = Row { version: 0, lock: None, value: [0; VALUE] };
        let row = self.rows.entry(row).or_insert(new);
        let holds = row.lock == Some(by);
        let is_locked = row.lock.is_some() && !holds;
        let version = |rest: &[u8]| Some(u32::from_le_bytes(rest.try_into().ok()?));
        let vote = match (kind, rest) {
            (0, []) => {
                row.write(0, out);
                out[LONGEST - 1] = u8::from(is_locked);
                return Some(LONGEST);
            }
            (1 | 3, rest) => {
                let version = version(rest)?;
                if !is_locked && row.version == version && *kind == 1 {
                    row.lock = Some(by);
                    row.write(1, out);
                    return Some(LONGEST - 1);
                }
                [[2, 4][usize::from(row.version != version)], 3][usize::from(is_locked)]
            }
            (2, []) if is_locked => 3,
            (2, []) => {
                row.lock = Some(by);
                row.write(1, out);
                return Some(LONGEST - 1);
            }
            (4, rest) => {
                let (read, value) = rest.split_at_checked(4)?;
                let (read, value) = (version(read)?, value.try_into().ok()?);
                if holds && row.version == read {
                    (row.version, row.value) = (read + 1, value);
                }
                row.free(holds)
            }
            (5, []) => row.free(holds),
            _ => return None,
        };
        out[HEAD] = vote;
        Some(HEAD + 1)
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

impl Row {
    /// Writes a vote of this kind with the row's contents.
    fn write(&self, vote: u8, out: &mut [u8; LONGEST]) {
        out[HEAD] = vote;
        out[HEAD + 1..HEAD + 5].copy_from_slice(&self.version.to_le_bytes());
        out[HEAD + 5..HEAD + 5 + VALUE].copy_from_slice(&self.value);
    }

    /// Gives the lock back, if the transaction holds it.
    fn free(&mut self, holds: bool) -> u8 {
        if holds {
            self.lock = None;
        }
        5
    }
}

/// The number at the beginning, and the rest.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vote of row 9 on a step of this transaction.
    fn vote(participant: &mut Participant, transaction: u64, step: &[u8]) -> Option<Vec<u8>> {
        let head = [9_u64, 7, transaction].map(u64::to_le_bytes).concat();
        let mut out = [0; LONGEST];
        let length = participant.take(&[&[0][..], &head, step].concat(), &mut out)?;
        let expected = [7, transaction, 9].map(u64::to_le_bytes).concat();
        assert_eq!(out[..HEAD], [&[1][..], &expected].concat());
        Some(out[HEAD..length].to_vec())
    }

    #[test]
    fn a_row_is_changed_by_the_transaction_that_locked_it() {
        let mut it = Participant::new(16);
        let lock = |version| [1, version, 0, 0, 0];
        let commit = |value| [&[4, 0, 0, 0, 0][..], &[value; 40]].concat();
        let read = |it: &mut _| vote(it, 3, &[0]).map(|is| (is[1], is[5], is[45]));
        assert_eq!(read(&mut it), Some((0, 0, 0)));
        assert_eq!(vote(&mut it, 1, &lock(1)), Some(vec![4]), "another version");
        assert_eq!(vote(&mut it, 1, &lock(0)).map(|it| (it[0], it.len())), Some((1, 45)));
        assert_eq!(vote(&mut it, 2, &lock(0)), Some(vec![3]), "another has the lock");
        assert_eq!(vote(&mut it, 2, &[3, 0, 0, 0, 0]), Some(vec![3]));
        assert_eq!(vote(&mut it, 2, &commit(7)), Some(vec![5]));
        assert_eq!(read(&mut it), Some((0, 0, 1)), "that was not its lock");
        assert_eq!(vote(&mut it, 1, &commit(7)), Some(vec![5]));
        assert_eq!(read(&mut it), Some((1, 7, 0)));
        assert_eq!(vote(&mut it, 2, &[3, 1, 0, 0, 0]), Some(vec![2]));
        assert_eq!(vote(&mut it, 2, &[2]).map(|it| it[0]), Some(1));
        assert_eq!(vote(&mut it, 2, &[5]), Some(vec![5]));
        assert_eq!(vote(&mut it, 1, &[6]), None);
        assert_eq!(vote(&mut it, 1, &[0, 0]), None, "more behind it");
    }
}
