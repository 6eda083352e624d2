//! The steps that a client asks of a participant: each row is read, locked and released in turn.
//! So a row is after three steps as it was before them, and the steps can be said again.

use std::fs::File;
use std::io::{BufWriter, Error, Result};
use std::net::SocketAddrV4;
use std::path::Path;

use cora_traffic::pcap::Writer;

use crate::asked::{Asks, LONGEST, frame};
use crate::keys::Skew;

/// Bytes of a step that has a version, and of the others.
const WITH_VERSION: usize = 30;
const OTHERS: usize = 26;

/// Steps for rows that are drawn.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    rows: Vec<u64>,
    next: usize,
}

impl Steps {
    /// For so many rows.
    pub(super) fn of(rows: u64, draws: usize) -> Self {
        Self { rows: Skew::Uniform.draws(rows, draws, 42), next: 0 }
    }

    /// Writes a capture: first a read of each of the rows, then all steps once. Returns the number
    /// of reads.
    pub(super) fn save(&mut self, rows: u64, path: &Path) -> Result<usize> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let mut at = 0;
        let mut write = |payload: &[u8]| {
            at += 1_000;
            writer.write(at, &frame(ASKER, PARTICIPANT, payload))
        };
        for row in 0..rows {
            let mut payload = [0; LONGEST];
            let length = step(&mut payload, (row, 0), READ);
            write(&payload[..length])?;
        }
        self.next = 0;
        for _ in 0..3 * self.rows.len() {
            let mut payload = [0; LONGEST];
            let length = self.next(&mut payload);
            write(&payload[..length])?;
        }
        writer.finish()?;
        usize::try_from(rows).map_err(Error::other)
    }
}

impl Asks for Steps {
    /// After all steps, they begin again.
    fn next(&mut self, out: &mut [u8; LONGEST]) -> usize {
        let number = self.next;
        self.next = (number + 1) % (3 * self.rows.len());
        let (row, transaction) = (self.rows[number / 3], number as u64 / 3 + 1);
        let kind = [READ, LOCK, ABORT][number % 3];
        step(out, (row, transaction), kind)
    }
}

/// The numbers of steps.
const READ: u8 = 0;
const LOCK: u8 = 1;
const ABORT: u8 = 5;

/// Writes a step of a transaction for a row, with version 0 if it has one; returns its length.
fn step(out: &mut [u8; LONGEST], (row, transaction): (u64, u64), kind: u8) -> usize {
    *out = [0; LONGEST];
    out[1..9].copy_from_slice(&row.to_le_bytes());
    out[9..17].copy_from_slice(&CLIENT.to_le_bytes());
    out[17..25].copy_from_slice(&transaction.to_le_bytes());
    out[25] = kind;
    if kind == LOCK { WITH_VERSION } else { OTHERS }
}

/// The number of the client.
const CLIENT: u64 = 7;

/// The participant's address where it is on a wire.
pub(super) const PARTICIPANT: SocketAddrV4 =
    SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 2), 7_000);
/// The client's in a capture.
const ASKER: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 40_000);
