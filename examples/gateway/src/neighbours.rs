//! The hosts on both links, and their Ethernet addresses.

use cora::prelude::*;

/// Seconds after which a neighbour is asked again, and after which it is forgotten if it is silent.
const STALE: u32 = 60;
const GONE: u32 = 120;
/// Neighbours share a set by their hash; a new one takes the place of the one that was silent for
/// longest.
const WAYS: usize = 4;
const SETS: usize = 1_024;

#[derive(Clone, Copy, Plain)]
struct Neighbour {
    /// Unspecified where nobody is.
    address: Address,
    mac: [u8; 6],
    is_known: bool,
    /// When it last said so, and when it was last asked; in seconds.
    seen: u32,
    asked: u32,
}

/// All neighbours, by their IP addresses.
#[state(singleton)]
pub(crate) struct Neighbours {
    all: [Neighbour; SETS * WAYS],
}

const NOBODY: Neighbour =
    Neighbour { address: Address::v6([0; 16]), mac: [0; 6], is_known: false, seen: 0, asked: 0 };

impl Default for Neighbours {
    fn default() -> Self {
        Self { all: [NOBODY; SETS * WAYS] }
    }
}

impl Neighbours {
    fn set(&mut self, address: Address) -> &mut [Neighbour] {
        let bits = address.bits();
        let mixed = (bits as u64 ^ (bits >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (mixed >> 40) as usize % SETS * WAYS;
        self.all.get_mut(first..first + WAYS).unwrap_or_default()
    }

    /// The neighbour's place; a new one gets that of the one that was silent for longest.
    fn place(&mut self, address: Address) -> Option<&mut Neighbour> {
        let set = self.set(address);
        let at = set.iter().position(|one| one.address == address).or_else(|| {
            let oldest = set.iter().enumerate().min_by_key(|(_, one)| one.seen.max(one.asked));
            oldest.map(|(at, _)| at)
        })?;
        let place = set.get_mut(at)?;
        if place.address != address {
            *place = Neighbour { address, ..NOBODY };
        }
        Some(place)
    }

    /// The neighbour said that it is there.
    pub(crate) fn learn(&mut self, address: Address, mac: [u8; 6], now: u32) {
        if let Some(place) = self.place(address) {
            *place = Neighbour { mac, is_known: true, seen: now, ..*place };
        }
    }

    /// The Ethernet address of a neighbour, if it is known, and whether to ask for it now: if it is
    /// not known, or silent for long, once in a second.
    pub(crate) fn resolve(&mut self, address: Address, now: u32) -> (Option<[u8; 6]>, bool) {
        let Some(place) = self.place(address) else { return (None, false) };
        let age = now.saturating_sub(place.seen);
        let known = (place.is_known && age < GONE).then_some(place.mac);
        if known.is_some() && age < STALE {
            return (known, false);
        }
        // A time of 0 is that of a capture's first second.
        let asked = core::mem::replace(&mut place.asked, now + 1);
        (known, asked != now + 1)
    }
}
