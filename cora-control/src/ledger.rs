//! Ledger of moves: offers, transfers and releases, noted as they pass.

use cora_core::plain::Plain;
use cora_runtime::channel::TICKETS;
use cora_runtime::link::message::{Message, Ownership};

use super::Move;

/// Most moves kept between two calls; further ones are not noted.
const MOST: usize = 2_048;
/// Most bytes of a key.
const KEY: usize = 64;

/// The ledger of a host: it sees each message that is sent or received.
#[derive(Debug)]
pub struct Ledger {
    offered: [[u8; KEY]; TICKETS],
    moved: Vec<([u8; KEY], bool)>,
}

impl Ledger {
    /// Creates an empty ledger.
    pub fn new() -> Self {
        Self { offered: [[0; KEY]; TICKETS], moved: Vec::with_capacity(MOST) }
    }

    /// Notes a message to the NIC.
    #[inline]
    pub fn sent(&mut self, message: &Message<'_>) {
        match *message {
            Message::Ownership(Ownership::Offer { ticket, group, .. }) => {
                if let Some(offered) = self.offered.get_mut(ticket as usize) {
                    *offered = key(group);
                }
            }
            Message::Ownership(Ownership::Transfer { ticket, .. }) => {
                if let Some(offered) = self.offered.get(ticket as usize) {
                    let offered = *offered;
                    self.note(offered, true);
                }
            }
            _ => {}
        }
    }

    /// Notes a message from the NIC.
    #[inline]
    pub fn received(&mut self, message: &Message<'_>) {
        if let Message::Ownership(Ownership::Release { group, .. }) = message {
            self.note(key(group), false);
        }
    }

    fn note(&mut self, key: [u8; KEY], to_nic: bool) {
        if self.moved.len() < MOST {
            self.moved.push((key, to_nic));
        }
    }

    /// Takes the moves noted since the last call, in order.
    pub fn take<K: Plain>(&mut self) -> Vec<Move<K>> {
        let moves = self.moved.drain(..);
        moves.filter_map(|(key, to_nic)| Some(Move { flow: K::get(&key)?, to_nic })).collect()
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

fn key(bytes: &[u8]) -> [u8; KEY] {
    let mut key = [0; KEY];
    let length = bytes.len().min(KEY);
    key[..length].copy_from_slice(&bytes[..length]);
    key
}
