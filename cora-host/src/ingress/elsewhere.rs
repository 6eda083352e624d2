//! A wire that is elsewhere: packets enter at a card with ports of its own. Host and card tell each
//! other of it by records on the rings that would carry the packets.
//!
//! | record | from | content |
//! | --- | --- | --- |
//! | [`COUNTS`] | card | frames that came, left and were dropped since the session began |
//! | [`PORTS`] | card | the report of each port |
//! | [`SETUP`] | host | the time of the run, and the services that are in force |
//! | changes | host | as on any wire: they stand between two packets |
//! | end of the wire | host | the ports are to be closed |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ingress::door::Services;
use crate::ingress::port_report::PortReport;
use crate::ingress::tally::{Tally, Ways};

/// Kinds of these records. Messages have lower numbers.
pub(crate) const COUNTS: u16 = 1 << 13;
pub(crate) const PORTS: u16 = COUNTS + 1;
pub(crate) const SETUP: u16 = COUNTS + 2;

const WORDS: usize = 12;

/// The fates of packets at a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Frames that came, and frames that left.
    pub(crate) came: u64,
    pub(crate) left: u64,
    /// Of those that came: taken by a NIC half, dropped because there was none, dropped as too
    /// long.
    pub(crate) taken: u64,
    pub(crate) nic_away: u64,
    pub(crate) too_long: u64,
    /// Packets that left, by the half that handled them.
    pub(crate) tally: Tally,
    /// Nothing more will come.
    pub(crate) has_ended: bool,
}

impl Counts {
    fn words(self) -> [u64; WORDS] {
        let Self { came, left, taken, nic_away, too_long, tally, has_ended } = self;
        let (nic, host) = (tally.from_nic, tally.from_host);
        [
            came,
            left,
            taken,
            nic_away,
            too_long,
            nic.transmit,
            nic.redirect,
            nic.made,
            host.transmit,
            host.redirect,
            host.made,
            has_ended.into(),
        ]
    }

    fn of_words(words: [u64; WORDS]) -> Self {
        let [came, left, taken, nic_away, too_long, ways @ .., ended] = words;
        let [transmit, redirect, made, ..] = ways;
        let from_nic = Ways { transmit, redirect, made, crossed: 0 };
        let [.., transmit, redirect, made] = ways;
        let from_host = Ways { transmit, redirect, made, crossed: 0 };
        let tally = Tally { from_nic, from_host };
        Self { came, left, taken, nic_away, too_long, tally, has_ended: ended != 0 }
    }

    /// As the bytes of a record.
    pub(crate) fn encode(self) -> [u8; 8 * WORDS] {
        let mut bytes = [0; 8 * WORDS];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The counts in a record.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: [[u8; 8]; WORDS] = words.try_into().ok().filter(|_| rest.is_empty())?;
        Some(Self::of_words(words.map(u64::from_le_bytes)))
    }

    /// The difference to `before`; `None` if any count went back.
    pub(crate) fn since(self, before: Self) -> Option<Self> {
        let mut words = self.words();
        for (word, before) in words.iter_mut().zip(before.words()) {
            *word = word.checked_sub(before)?;
        }
        Some(Self { has_ended: self.has_ended, ..Self::of_words(words) })
    }
}

/// A host's word before all packets, and before a change of its services.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The time of the run (ns), at the beginning of a session.
    pub(crate) now: Option<u64>,
    /// Where connections are opened from the other side.
    pub(crate) services: Services,
}

/// The reports of a card's ports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PortsThere {
    pub(crate) ports: BTreeMap<String, PortReport>,
    pub(crate) dropped: BTreeMap<String, u64>,
    /// Packets that pass leave at the opposite port.
    pub(crate) passes_on: bool,
}

/// The host's view of such a wire.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// The last counts of this session's card.
    told: Counts,
    /// The services of the latest version.
    services: Services,
}

impl Elsewhere {
    /// With the services of the first version.
    pub(crate) fn with(services: &Services) -> Self {
        Self { services: services.clone(), ..Self::default() }
    }

    /// Another session begins, in which the card counts from zero: the record that is to come
    /// before all others.
    pub(crate) fn begins(&mut self, now: u64) -> (u16, Vec<u8>) {
        self.told = Counts::default();
        self.record(Some(now))
    }

    /// The services change: the record that is to come before those of the change.
    pub(crate) fn change(&mut self, services: &Services) -> (u16, Vec<u8>) {
        self.services = services.clone();
        self.record(None)
    }

    /// The latest services: their record may have been lost.
    pub(crate) fn services_again(&self) -> (u16, Vec<u8>) {
        self.record(None)
    }

    fn record(&self, now: Option<u64>) -> (u16, Vec<u8>) {
        let setup = Setup { now, services: self.services.clone() };
        (SETUP, serde_json::to_vec(&setup).unwrap_or_default())
    }

    /// The difference to the last counts; `None` if that is impossible.
    pub(crate) fn heard(&mut self, bytes: &[u8]) -> Option<Counts> {
        let counts = Counts::decode(bytes)?;
        let since = counts.since(self.told)?;
        self.told = counts;
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use cora_runtime::link::message::Kind;

    use crate::ingress::offers::Offers;

    use super::*;

    fn counts(came: u64) -> Counts {
        let from_nic = Ways { transmit: 3, redirect: 2, made: 1, crossed: 0 };
        let tally = Tally { from_nic, from_host: Ways::default() };
        Counts { came, left: 6, taken: 8, nic_away: 1, too_long: 0, tally, has_ended: false }
    }

    #[test]
    fn a_host_adds_up_what_its_cards_tell() {
        let mut wire = Elsewhere::default();
        let first = wire.heard(&counts(9).encode()).expect("counts");
        assert_eq!(first, counts(9));
        let more = wire.heard(&counts(12).encode()).expect("counts");
        assert_eq!(more, Counts { came: 3, ..Counts::default() });
        assert_eq!(wire.heard(&counts(11).encode()), None, "it goes back");
        assert_eq!(wire.heard(&counts(13).encode()[1..]), None, "it is cut");
        let (kind, setup) = wire.begins(7);
        let setup: Setup = serde_json::from_slice(&setup).expect("a record");
        assert_eq!((kind, setup.now), (SETUP, Some(7)));
        assert_eq!(wire.heard(&counts(2).encode()), Some(counts(2)));
    }

    #[test]
    fn a_card_may_tell_any_numbers() {
        let all = Counts::of_words([u64::MAX; WORDS]);
        let (mut offers, mut tally) = (Offers::default(), Tally::default());
        let mut wire = Elsewhere::default();
        for _ in 0..2 {
            wire.begins(0);
            let counts = wire.heard(&all.encode()).expect("counts");
            offers.add(&counts);
            tally += counts.tally;
        }
        assert_eq!((offers.taken, tally.from_nic.total()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn no_message_has_such_a_kind() {
        assert!((COUNTS..=SETUP).all(|kind| Kind::of(kind).is_none()));
    }
}
