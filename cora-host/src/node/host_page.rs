//! Words shared by the supervisor and the host half, inaccessible to the NIC half.
//!
//! The NIC half can write the region's memory at any time, so it can't carry information between
//! trusted processes. This page has the current generation and the seed (written by the
//! supervisor). It also has the host's heartbeat, the version in force, its accusation of a NIC
//! that broke the protocol, the packet that its handlers run, and its counts of outcomes. These
//! survive a host that dies.
//!
//! ```text
//! word 0    the first generation, the current one, seed, allocate pages at once, end without the
//!           NIC, no flow survives, packets of the host that left through the NIC before, the NIC
//!           takes no flow
//! word 16   heartbeat, generation it serves, phase, version, accused generation,
//!           packet in its handlers, utilisation of host and NIC, flows at the NIC  of one host
//! word 32   entries carried over, packets lost, damaged replicas                  of all hosts
//! word 64   entries and capacity of each table                                    of one host
//! word 192  outcomes of one host: length of the name, the name (48 bytes), count
//! word 1024 the counts of handlers of messages at it                                  of one host
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use cora_control::adaptive::Utilisation;
use cora_runtime::link::region::{
    AttachError, HashSeed, Identity, Region, RegionLayout, generation, note_packet, noted_packet,
};
use cora_runtime::telemetry::{COUNTER_WORDS, Counters};

use crate::RunError;
use crate::node::running::{UNSEEN, Word};
use crate::observe::counted::Counted;

/// Bytes of the page.
pub(crate) const BYTES: usize = 16_384;

const FIRST: usize = 0;
const CURRENT: usize = 1;
const SEED: usize = 2;
const RESIDENT: usize = 3;
const FINISH: usize = 4;
const AFRESH: usize = 5;
const LEFT: usize = 6;
const STANDS_IN: usize = 7;

/// Data of one host: zero until it writes them, and no packet.
const OF_ONE_HOST: std::ops::Range<usize> = 16..32;
const HEARTBEAT: usize = 16;
const ATTACHED: usize = 17;
const PHASE: usize = 18;
const VERSION: usize = 19;
const ACCUSED: usize = 20;
const PACKET: usize = 21;
/// Three words; all zero if no controller measures.
const UTILISATION: usize = 22;

const CARRIED: usize = 32;
const LOST: usize = 33;
const DAMAGED: usize = 34;

/// Offset of the counters.
const COUNTERS: usize = 512;

const _: () = assert!(COUNTERS + COUNTER_WORDS <= BYTES / 8, "a page holds them");

/// The phase of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It makes its states, and takes over those of the previous host.
    Starts,
    /// It handles packets.
    Serves,
    /// It writes its final state.
    Ends,
}

/// The page, which locates the regions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPage {
    words: &'static [AtomicU64],
    counters: Counters,
}

impl HostPage {
    /// The page in this memory, which has [`BYTES`].
    pub(crate) fn new(words: &'static [AtomicU64]) -> Result<Self, RunError> {
        let counters = words.get(COUNTERS..).and_then(Counters::new);
        let what = "the page of supervisor and host half";
        let cause = || std::io::ErrorKind::UnexpectedEof.into();
        let counters = counters.ok_or_else(|| RunError::System { what, cause: cause() })?;
        Ok(Self { words, counters })
    }

    fn get(self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn set(self, at: usize, value: u64) {
        if let Some(word) = self.words.get(at) {
            word.store(value, Ordering::Release);
        }
    }

    fn add(self, at: usize, more: u64) {
        if let Some(word) = self.words.get(at) {
            word.fetch_add(more, Ordering::AcqRel);
        }
    }

    /// Written by the supervisor, as the next three: initialises the page for the first region in
    /// its file.
    pub(crate) fn begin(self, identity: Identity) {
        self.set(FIRST, identity.generation);
        self.set(SEED, identity.seed.0);
        self.announce(identity, 0, false);
    }

    /// Makes this region the current one. `left` packets of the host left through the previous
    /// region. Its NIC half `stands_in` for a card's, and takes no flow.
    pub(crate) fn announce(self, identity: Identity, left: u64, stands_in: bool) {
        self.set(LEFT, left);
        self.set(STANDS_IN, stands_in.into());
        self.set(RESIDENT, identity.resident.into());
        self.set(AFRESH, identity.afresh.into());
        self.set(CURRENT, identity.generation);
    }

    /// Tells the host to end by itself: the NIC does not reach its end.
    pub(crate) fn finish_alone(self) {
        self.set(FINISH, 1);
    }

    /// Clears the words of a dead host for its successor. Returns what the dead one counted.
    pub(crate) fn renew(self) -> Counted {
        let counted = Counted::of(&self.counters.read());
        for word in self.words.get(OF_ONE_HOST).into_iter().flatten() {
            word.store(0, Ordering::Relaxed);
        }
        note_packet(self.packet_word(), None);
        self.counters.clear();
        counted
    }

    /// The host's counters.
    pub(crate) const fn counters(self) -> Counters {
        self.counters
    }

    /// A number that changes while the host lives.
    pub(crate) fn heartbeat(self) -> u64 {
        self.get(HEARTBEAT)
    }

    /// The generation that the host serves; 0 if none yet.
    pub(crate) fn attached(self) -> u64 {
        self.get(ATTACHED)
    }

    pub(crate) fn phase(self) -> Phase {
        match self.get(PHASE) {
            0 => Phase::Starts,
            1 => Phase::Serves,
            _ => Phase::Ends,
        }
    }

    /// The version of read-mostly states that is in force at the host, and before at the NIC; 0
    /// until it is known.
    pub(crate) fn version(self) -> u64 {
        self.get(VERSION)
    }

    /// The latest generation in which the NIC broke the protocol, as reported by the host; 0 if
    /// none.
    pub(crate) fn accused(self) -> u64 {
        self.get(ACCUSED)
    }

    /// The number of the packet that the host's handlers run.
    pub(crate) fn packet(self) -> Option<u64> {
        noted_packet(self.packet_word())
    }

    /// The word with this number, for the host.
    pub(crate) fn packet_word(self) -> Word {
        self.words.get(PACKET).unwrap_or(&UNSEEN)
    }

    /// Entries carried over from the previous program.
    pub(crate) fn carried(self) -> u64 {
        self.get(CARRIED)
    }

    /// Packets left unread by a dead host, as found by its successors.
    pub(crate) fn lost(self) -> u64 {
        self.get(LOST)
    }

    /// Damaged replicas of durable entries, as found by hosts.
    pub(crate) fn damaged(self) -> u64 {
        self.get(DAMAGED)
    }

    /// How many packets of the host left through the previous region.
    pub(crate) fn left(self) -> u64 {
        self.get(LEFT)
    }

    /// Number of packets with an outcome at the host.
    pub(crate) fn handled(self) -> u64 {
        Counted::of(&self.counters.read()).outcomes.values().sum()
    }

    /// Utilisation of both sides, if a controller measures it.
    pub(crate) fn utilisation(self) -> Option<Utilisation> {
        let [host, nic, nic_flows] = [0, 1, 2].map(|word| self.get(UTILISATION + word));
        let (host, nic) = (f64::from_bits(host), f64::from_bits(nic));
        (host + nic > 0.0).then_some(Utilisation { host, nic, nic_flows })
    }

    /// Whether the NIC half of the current region takes no flow.
    pub(crate) fn nic_stands_in(self) -> bool {
        self.get(STANDS_IN) != 0
    }

    /// The current generation.
    pub(crate) fn current(self) -> u64 {
        self.get(CURRENT)
    }

    /// The region of this generation in the file of regions, for a program with this plan.
    pub(crate) fn region(
        self,
        regions: &'static [AtomicU64],
        layout: &RegionLayout,
        plan: u64,
        generation: u64,
    ) -> Result<Region, AttachError> {
        let seed = HashSeed(self.get(SEED));
        let resident = self.get(RESIDENT) != 0;
        let afresh = self.get(AFRESH) != 0;
        let identity = Identity { plan, generation, seed, resident, afresh };
        Region::known(generation::place(regions, generation), layout, identity)
    }

    /// The previous generation, if its region is in the same file.
    pub(crate) fn before(self, generation: u64) -> Option<u64> {
        generation.checked_sub(1).filter(|before| *before >= self.get(FIRST))
    }

    /// Whether the host must end without the NIC.
    pub(crate) fn must_finish(self) -> bool {
        self.get(FINISH) != 0
    }

    /// Written by the host, as all that follows: signals that it lives.
    #[inline]
    pub(crate) fn beat(self) {
        if let Some(word) = self.words.get(HEARTBEAT) {
            word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// The host serves the region of this generation.
    pub(crate) fn attach(self, generation: u64) {
        self.set(PHASE, 1);
        self.set(ATTACHED, generation);
    }

    /// The host writes its final state.
    pub(crate) fn end(self) {
        self.set(PHASE, 2);
    }

    pub(crate) fn set_version(self, version: u64) {
        self.set(VERSION, version);
    }

    /// The NIC broke the protocol in the region of this generation.
    pub(crate) fn accuse(self, generation: u64) {
        self.set(ACCUSED, generation);
    }

    pub(crate) fn set_utilisation(self, utilisation: Utilisation) {
        let Utilisation { host, nic, nic_flows } = utilisation;
        let words = [host.to_bits(), nic.to_bits(), nic_flows];
        for (at, word) in (UTILISATION..).zip(words) {
            self.set(at, word);
        }
    }

    pub(crate) fn set_carried(self, entries: u64) {
        self.set(CARRIED, entries);
    }

    pub(crate) fn add_lost(self, packets: u64) {
        self.add(LOST, packets);
    }

    pub(crate) fn add_damaged(self, copies: u64) {
        self.add(DAMAGED, copies);
    }
}

#[cfg(test)]
mod tests {
    use cora_core::outcome::Outcomes;
    use cora_core::verdict::reasons::NotIp;
    use cora_runtime::telemetry::TOOK_WORDS;

    use super::*;

    fn page() -> HostPage {
        let words: Vec<AtomicU64> = (0..BYTES / 8).map(|_| AtomicU64::new(0)).collect();
        HostPage::new(words.leak()).expect("it is long enough")
    }

    #[test]
    fn counts_outlive_the_host_that_made_them() {
        let page = page();
        let mut outcomes = Outcomes::new();
        outcomes.dropped(NotIp);
        page.counters().tell_outcomes(&outcomes, &[4, 5]);
        page.beat();
        page.attach(7);
        assert_eq!(page.handled(), 1);
        let Counted { outcomes: told, took } = page.renew();
        assert_eq!((&took[..3], took.len()), (&[4, 5, 0][..], TOOK_WORDS));
        assert_eq!(told, [("not-ip".to_owned(), 1)].into());
        assert!(page.renew().took.iter().all(|word| *word == 0));
        assert_eq!((page.heartbeat(), page.attached(), page.handled()), (0, 0, 0));
    }

    #[test]
    fn the_region_before_is_in_the_same_file_or_nowhere() {
        let page = page();
        let seed = HashSeed(2);
        let identity = Identity { plan: 1, generation: 4, seed, resident: true, afresh: false };
        page.begin(identity);
        assert_eq!((page.current(), page.before(4), page.before(5)), (4, None, Some(4)));
        page.announce(Identity { generation: 5, resident: false, ..identity }, 6, true);
        assert!(page.nic_stands_in());
        assert_eq!((page.left(), page.utilisation()), (6, None));
        let utilisation = Utilisation { host: 0.5, nic: 0.0, nic_flows: 7 };
        page.set_utilisation(utilisation);
        assert_eq!(page.utilisation(), Some(utilisation));
        page.accuse(4);
        assert_eq!((page.current(), page.accused(), page.phase()), (5, 4, Phase::Starts));
    }
}
