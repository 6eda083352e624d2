//! The steps that a client asks of a participant: each row is read, locked and released in turn.
//! So a row is after three steps as it was before them, and the steps can be said again.

use std::fs::File;
use std::io::{BufWriter, Error, Result};
use std::net::SocketAddrV4;
use std::path::Path;

use cora_traffic::pcap::Writer;

use crate::keys::Skew;

/// Bytes of a step that has a version, the longest that is asked here, and of the others.
pub(super) const LONGEST: usize = 30;
const OTHERS: usize = 26;
/// Bytes of the headers in front of a datagram.
const HEADERS: usize = 42;

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

    /// Writes the next step, and returns its length. After all, they begin again.
    pub(super) fn next(&mut self, out: &mut [u8; LONGEST]) -> usize {
        let number = self.next;
        self.next = (number + 1) % (3 * self.rows.len());
        let (row, transaction) = (self.rows[number / 3], number as u64 / 3 + 1);
        let kind = [READ, LOCK, ABORT][number % 3];
        step(out, (row, transaction), kind)
    }

    /// Writes a capture: first a read of each of the rows, then all steps once. Returns the number
    /// of reads.
    pub(super) fn save(&mut self, rows: u64, path: &Path) -> Result<usize> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let mut at = 0;
        let mut write = |payload: &[u8]| {
            at += 1_000;
            writer.write(at, &frame(payload))
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
    if kind == LOCK { LONGEST } else { OTHERS }
}

/// The number of the client.
const CLIENT: u64 = 7;

/// A datagram from a client to the participant, without a UDP checksum, as a frame.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut frame = vec![0; (HEADERS + payload.len()).max(60)];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34]
        .copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame[16..18].copy_from_slice(&(length + 28).to_be_bytes());
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let port = PARTICIPANT.port().to_be_bytes();
    frame[34..38].copy_from_slice(&[0x9c, 0x40, port[0], port[1]]);
    frame[38..40].copy_from_slice(&(length + 8).to_be_bytes());
    frame[HEADERS..HEADERS + payload.len()].copy_from_slice(payload);
    frame
}

/// The participant's address where it is on a wire.
pub(super) const PARTICIPANT: SocketAddrV4 =
    SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 2), 7_000);
