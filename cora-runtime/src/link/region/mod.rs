//! The header of the shared memory: its identity with the plan, and the places of its four rings.
//!
//! ```text
//! byte 0       magic, layout version, plan hash, generation, hash seed, length, offset and size
//!              of each ring and of the payload buffers        written by the host, before the NIC
//! byte 512     the NIC's status and heartbeat                 written by the NIC
//! byte 768     the NIC's bell                                 written by both
//! byte 896     the NIC's turn                                 written by an agent
//! byte 960     the agent's bell                               written by both
//! byte 1024    the host's heartbeat                           written by the host
//! byte 1152    the host's bell                                written by both
//! byte 4096    the NIC's counters                             written by the NIC
//! byte 16384   the rings, each its indices and its data; then payload buffers, if there are any
//! ```
//!
//! All of it is native 64-bit words, little-endian on every machine that Cora runs on. The host
//! creates the region and the NIC attaches, both by the code of this module. A side that attaches
//! copies the header once, checks every bound, and trusts nothing unchecked.

mod doorbell;
mod error;
pub mod exit;
pub mod generation;
mod idle;
mod layout;
mod packet_word;
mod status;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

pub use doorbell::{Bell, BellWord, Futex, Woken, sleep, wake};
pub use error::AttachError;
pub use idle::Idle;
pub use layout::{HEADER_BYTES, LAYOUT_VERSION, LayoutError, RING_NAMES, RegionLayout};
use layout::{HeaderWords, at, check_layout, find_rings, write_header};
pub use packet_word::{no_packet, note_packet, noted_packet};
pub use status::NicStatus;

use crate::link::ring::SharedMemory;
use crate::telemetry::Counters;

const _: () = assert!(
    cfg!(target_endian = "little") && usize::BITS == 64,
    "both sides read the region as native words: 64-bit little-endian machines only"
);

/// Seed of the hash of keys at both sides. It is secret from the network, so that nobody outside
/// can choose packets that collide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashSeed(pub u64);

impl fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashSeed(..)")
    }
}

/// The identity of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the plan that both programs were built for.
    pub plan: u64,
    /// Counts the starts of either side; data of an older generation are stale.
    pub generation: u64,
    /// Seed of the hash of keys.
    pub seed: HashSeed,
    /// Whether every page of the states is present before the first packet. Otherwise each page is
    /// made at its first access, and a packet waits for it.
    pub resident: bool,
    /// Whether the previous host had state that entries of flows depend on, and it is lost: then no
    /// flow lives on ([`Transfer::RESTS_ON`](cora_core::app::Transfer::RESTS_ON)).
    pub afresh: bool,
}

/// The shared memory between one NIC half and one host half.
#[derive(Clone, Copy)]
pub struct Region {
    header: &'static HeaderWords,
    counters: Counters,
    identity: Identity,
    rings: Rings,
}

/// The four rings of a region, each in one direction, and the payload buffers.
#[derive(Clone, Copy, Debug)]
pub struct Rings {
    /// Host to NIC: frames that arrive at the NIC's wire.
    pub wire_in: SharedMemory,
    /// NIC to host: frames that leave.
    pub wire_out: SharedMemory,
    /// NIC to host: packets and flows that go to the host's handlers.
    pub punt: SharedMemory,
    /// Host to NIC: packets and messages that come back from there.
    pub back: SharedMemory,
    /// The payload buffers of frames with their head at the host, if there are any.
    pub payloads: Option<SharedMemory>,
}

impl Region {
    /// Makes a region in `words`, for the host; earlier content does not matter. The rings are
    /// empty, and the NIC's status is [`NicStatus::Starting`]. A NIC that was attached to an
    /// earlier region in the same words must have ended.
    pub fn create(
        words: &'static [AtomicU64],
        layout: &RegionLayout,
        identity: Identity,
    ) -> Result<Self, AttachError> {
        // Nothing is read back: the peer of an earlier region may write here at any time.
        let made = Self::known(words, layout, identity)?;
        let rings = layout.rings.iter().filter_map(|place| words.get(place.begin())).flatten();
        for word in made.header.iter().chain(rings) {
            word.store(0, Ordering::Relaxed);
        }
        write_header(made.header, layout, identity);
        made.nic_runs(None);
        Ok(made)
    }

    /// The region that was made in `words` with this layout and identity, for a side that knows
    /// both without the region's header. A peer that writes nonsense into the header cannot mislead
    /// it.
    pub fn known(
        words: &'static [AtomicU64],
        layout: &RegionLayout,
        identity: Identity,
    ) -> Result<Self, AttachError> {
        let has = size_of_val(words);
        if has < layout.bytes() {
            return Err(AttachError::TooShort { has, needs: layout.bytes() });
        }
        let rings = layout.rings_in(words)?;
        let (header, counters) = header_of(words)?;
        Ok(Self { header, counters, identity, rings })
    }

    /// Finds the region that the other side made in `words`, for a program built for `plan`.
    pub fn attach(words: &'static [AtomicU64], plan: u64) -> Result<Self, AttachError> {
        let (header, counters) = header_of(words)?;
        check_layout(header)?;
        let read = |at: usize| header[at].load(Ordering::Relaxed);
        let region = read(at::PLAN);
        if region != plan {
            return Err(AttachError::OtherPlan { region, program: plan });
        }
        let has = size_of_val(words);
        let needs = usize::try_from(read(at::LENGTH)).unwrap_or(usize::MAX);
        if has < needs {
            return Err(AttachError::TooShort { has, needs });
        }
        let identity = Identity {
            plan,
            generation: read(at::GENERATION),
            seed: HashSeed(read(at::SEED)),
            resident: read(at::RESIDENT) != 0,
            afresh: read(at::AFRESH) != 0,
        };
        Ok(Self { header, counters, identity, rings: find_rings(header, words, needs)? })
    }

    /// [`Self::attach`] for a side that was attached to a region of generation `seen` before. It
    /// refuses a region that is no newer: a process that ended left it behind.
    pub fn attach_newer(
        words: &'static [AtomicU64],
        plan: u64,
        seen: u64,
    ) -> Result<Self, AttachError> {
        let attached = Self::attach(words, plan)?;
        let region = attached.identity.generation;
        if region <= seen { Err(AttachError::Stale { region, seen }) } else { Ok(attached) }
    }

    /// The region's identity.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Its rings. Each has one producer and one consumer, at opposite sides; using one end twice is
    /// safe, and makes garbage.
    pub fn rings(&self) -> Rings {
        self.rings
    }

    /// The NIC's last status; `None` if it wrote nonsense.
    pub fn nic_status(&self) -> Option<NicStatus> {
        NicStatus::decode(self.header[at::NIC_STATUS].load(Ordering::Acquire))
    }

    /// Sets the NIC's status, for the NIC.
    pub fn set_nic_status(&self, status: NicStatus) {
        self.header[at::NIC_STATUS].store(status.encode(), Ordering::Release);
    }

    /// A number that grows while the NIC lives.
    pub fn nic_heartbeat(&self) -> u64 {
        self.header[at::NIC_HEARTBEAT].load(Ordering::Relaxed)
    }

    /// The NIC is alive: `beat` is any number that differs from the last.
    pub fn nic_beats(&self, beat: u64) {
        self.header[at::NIC_HEARTBEAT].store(beat, Ordering::Relaxed);
    }

    /// The number of the packet that the NIC's handlers run.
    pub fn nic_packet(&self) -> Option<u64> {
        noted_packet(&self.header[at::NIC_PACKET])
    }

    /// Notes the packet that the NIC's handlers run now, for the NIC.
    #[inline(always)]
    pub fn nic_runs(&self, number: Option<u64>) {
        note_packet(&self.header[at::NIC_PACKET], number);
    }

    /// The NIC's counters.
    #[inline]
    pub const fn nic_counters(&self) -> Counters {
        self.counters
    }

    /// The bell that the NIC sleeps by, and the host rings.
    pub fn nic_bell<F: Futex>(&self, futex: F) -> Bell<F> {
        Bell::new(&self.header[at::NIC_BELL], futex)
    }

    /// The bell that the host sleeps by, and the NIC rings.
    pub fn host_bell<F: Futex>(&self, futex: F) -> Bell<F> {
        Bell::new(&self.header[at::HOST_BELL], futex)
    }

    /// The turn that an agent gave the NIC half last; zero if it works whenever it can. An agent
    /// runs one NIC half after the other: each handles what its ring has, and ends its turn.
    #[inline]
    pub fn turn(&self) -> u64 {
        self.header[at::TURN].load(Ordering::Acquire)
    }

    /// Gives the NIC half its turn with this number, which is another one than the last, for the
    /// agent. Ring its bell then.
    pub fn give_turn(&self, number: u64) {
        self.header[at::TURN].store(number, Ordering::Release);
    }

    /// The last turn that the NIC half ended.
    pub fn turn_ended(&self) -> u64 {
        self.header[at::TURN_ENDED].load(Ordering::Acquire)
    }

    /// How long the last turn took (ns), where the NIC half has its process with others.
    pub fn turn_ns(&self) -> u64 {
        self.header[at::TURN_NS].load(Ordering::Relaxed)
    }

    /// Tells how long a turn took (ns), before it ends, for the NIC half.
    pub fn tell_turn_ns(&self, ns: u64) {
        self.header[at::TURN_NS].store(ns, Ordering::Relaxed);
    }

    /// The NIC half has nothing left to do in this turn, for the NIC half. Ring the agent's bell
    /// then.
    pub fn end_turn(&self, number: u64) {
        self.header[at::TURN_ENDED].store(number, Ordering::Release);
    }

    /// The bell that an agent sleeps by during a turn, and the NIC half rings.
    pub fn agent_bell<F: Futex>(&self, futex: F) -> Bell<F> {
        Bell::new(&self.header[at::AGENT_BELL], futex)
    }

    /// A number that grows while the host lives.
    pub fn host_heartbeat(&self) -> u64 {
        self.header[at::HOST_HEARTBEAT].load(Ordering::Relaxed)
    }

    /// The host is alive: `beat` is any number that differs from the last.
    pub fn host_beats(&self, beat: u64) {
        self.header[at::HOST_HEARTBEAT].store(beat, Ordering::Relaxed);
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("identity", &self.identity)
            .field("nic_status", &self.nic_status())
            .field("rings", &self.rings)
            .finish_non_exhaustive()
    }
}

/// Tells the host with a code why this NIC will not attach, if `words` are a region of this version
/// at all.
pub fn refuse(words: &[AtomicU64], code: u32) {
    if let Some(header) = words.first_chunk::<{ layout::HEADER_WORDS }>()
        && check_layout(header).is_ok()
    {
        header[at::NIC_STATUS].store(NicStatus::Refused(code).encode(), Ordering::Release);
    }
}

/// The words before the first ring, if there are so many, and the counters among them.
fn header_of(words: &'static [AtomicU64]) -> Result<(&'static HeaderWords, Counters), AttachError> {
    let too_short = AttachError::TooShort { has: size_of_val(words), needs: HEADER_BYTES };
    let header: &HeaderWords = words.first_chunk().ok_or(too_short)?;
    let counters = header.get(at::NIC_COUNTERS..).and_then(Counters::new);
    Ok((header, counters.ok_or(too_short)?))
}
