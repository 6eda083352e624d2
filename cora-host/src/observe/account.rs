//! What the host half of a shard tells at its end, for itself and for its NIC: counters, and the
//! final state in pieces.
//!
//! ```text
//! length 8 │ counters, as JSON │ state 2, length 4, piece │ state 2, length 4, piece │ …
//! ```

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Write};

use cora_control::Drift;
use cora_runtime::exec::Took;
use serde::{Deserialize, Serialize};

use crate::observe::ipfix::Records;
use crate::observe::report::{Filled, Recovery, Sides};

/// An encoded entry, or part of a state of one value, with the number of its state.
pub(crate) type Piece = (u16, Vec<u8>);

/// The counters of a shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The outcomes that the host counted.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Words with the counts of handlers of messages at the host.
    pub(crate) took: Vec<u64>,
    /// Those that the NIC counted; `None` if it did not reach its end.
    pub(crate) nic_outcomes: Option<BTreeMap<String, u64>>,
    pub(crate) sides: Sides,
    /// The fill level of each table.
    pub(crate) tables: BTreeMap<String, Filled>,
    pub(crate) recovery: Recovery,
    pub(crate) records: Option<Records>,
    pub(crate) drift: Option<Drift>,
    /// Output that could not be written.
    pub(crate) failures: Vec<String>,
    /// The end of the shard's time.
    pub(crate) now: u64,
}

/// The results of one shard.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The outcomes of all packets that were steered to it.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Words with the counts of handlers of messages, at all halves.
    pub(crate) took: Vec<u64>,
    /// What its host told; `None` if it did not reach its end.
    pub(crate) account: Option<Account>,
    /// The final state, if it is to be written.
    pub(crate) pieces: Vec<Piece>,
}

impl Account {
    /// Writes it, and what follows: [`write_piece`].
    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), Error> {
        let text = serde_json::to_vec(self)?;
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)
    }

    /// Reads an account and its pieces.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, Vec<Piece>), Error> {
        let cut = || Error::from(ErrorKind::UnexpectedEof);
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (text, mut rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let account = serde_json::from_slice(text)?;
        let mut pieces = Vec::new();
        while let Some((state, after)) = rest.split_first_chunk() {
            let (length, after) = after.split_first_chunk().ok_or_else(cut)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (piece, after) = after.split_at_checked(length).ok_or_else(cut)?;
            pieces.push((u16::from_le_bytes(*state), piece.to_vec()));
            rest = after;
        }
        if rest.is_empty() { Ok((account, pieces)) } else { Err(cut()) }
    }
}

/// Adds counts by name.
pub(crate) fn add(to: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (name, count) in more {
        let sum = to.entry(name).or_default();
        // A NIC half may tell any numbers.
        *sum = sum.saturating_add(count);
    }
}

/// Adds words of what handlers took.
pub(crate) fn add_words(to: &mut Vec<u64>, more: &[u64]) {
    to.resize(to.len().max(more.len()), 0);
    for (sum, word) in to.iter_mut().zip(more) {
        *sum = sum.saturating_add(*word);
    }
}

/// Messages that handlers, hooks and timers sent, by these words.
pub(crate) fn sent(words: &[u64]) -> u64 {
    all_took(words).fold(0, |sum, took| sum.saturating_add(took.sent))
}

/// What each handler of messages took, by these words, and last all else.
pub(crate) fn all_took(words: &[u64]) -> impl Iterator<Item = Took> {
    words.as_chunks().0.iter().map(|words| Took::of(*words))
}

/// Writes a piece behind an account.
pub(crate) fn write_piece(to: &mut impl Write, state: u16, piece: &[u8]) -> Result<(), Error> {
    let length = u32::try_from(piece.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    to.write_all(&state.to_le_bytes())?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_as_it_was_written_or_not_at_all() {
        let outcomes = [("transmit".to_owned(), 7)].into();
        let account = Account { outcomes, now: u64::MAX, ..Account::default() };
        let pieces: [Piece; 3] = [(1, b"an entry".to_vec()), (u16::MAX, Vec::new()), (0, vec![9])];
        let mut bytes = Vec::new();
        account.write(&mut bytes).expect("memory");
        let counters = bytes.len();
        for (state, piece) in &pieces {
            write_piece(&mut bytes, *state, piece).expect("memory");
        }
        let (read, read_pieces) = Account::read(&bytes).expect("it is whole");
        assert_eq!((read.outcomes, read.now), (account.outcomes, u64::MAX));
        assert_eq!(read_pieces, pieces);
        let ends = [counters, counters + 14, counters + 20, bytes.len()];
        for cut in 0..bytes.len() {
            assert_eq!(Account::read(&bytes[..cut]).is_ok(), ends.contains(&cut), "{cut}");
        }
        let endless = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
        assert!(Account::read(&endless).is_err());
    }
}
