//! Copies of durable entries and singletons, kept so that they outlive the side that owns them.
//!
//! The host keeps them, of what the NIC owns and of what it owns itself, the latter for the host
//! that comes after it: so a standby holds every durable entry there is, each with its holder.
//!
//! A singleton's copy and those of entries that a burst changed take effect at once: a pool that
//! knows of a session's port without the session would leak it, and a session without its lease
//! would get the packets of whoever leases the port next.
//!
//! # How far copies are behind
//!
//! *No packet.* What a packet changed is on the punt ring before the packet is on the wire's, and
//! the punt ring is published first; what the host's packets change is in the standby before what
//! they send is published. So whatever left depends on nothing that a kill can take away. A packet
//! whose changes are lost did not leave. Behind are times of last use alone: being found is not
//! told, and a copy that comes back counts as used then.
//!
//! It holds under a plan that splits. Under nic-only no flow ever moves, and there is nowhere for
//! copies to come back to; under host-only the NIC owns nothing.

/// Which side owns an entry that there is a copy of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// The host itself.
    Host,
    /// The NIC.
    Nic,
    /// The NIC, as the last host thought; the new one waits for the NIC to say so.
    Unsure,
}

/// A copy of a durable entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied<'a> {
    /// The state's number.
    pub state: u16,
    /// Who owns it.
    pub holder: Holder,
    /// The group key of its flow, encoded; empty if it belongs to none.
    pub group: &'a [u8],
    /// The key that it was inserted under, encoded.
    pub key: &'a [u8],
    /// The whole entry, which begins with that key.
    pub piece: &'a [u8],
}

/// Keeps copies: one at most of each state's each key.
pub trait Standby {
    /// Keeps a copy in place of the one with the same state and key; `false` when there is no room
    /// for it, and the old one is gone.
    fn keep(&mut self, copy: &Copied<'_>) -> bool;

    /// Forgets the copy with this key, if this side holds the entry.
    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]);

    /// Forgets the copies of this holder's entries, of one flow or of all.
    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>);

    /// From now on the entries of `from`, of one flow or of all, are `to`'s.
    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>);

    /// What follows until [`Self::commit`] takes effect with that, or not at all.
    fn begin(&mut self) {}

    /// What came since [`Self::begin`] takes effect.
    fn commit(&mut self) {}

    /// Keeps a part of the encoding of the singleton with this number, which begins there, in place
    /// of what was there. The first time all parts come.
    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        let _ = (state, at, part);
    }

    /// Visits the copy of the singleton with this number, part by part; whether there is one.
    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        let _ = (state, visit);
        false
    }

    /// Visits the copy with this key; whether there is one.
    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Copied<'_>)) -> bool;

    /// Visits the copies of this holder's entries, of one flow or of all, in the same order each
    /// time.
    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Copied<'_>));
}

/// What the living side could keep of what a dead one had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Flows that live on here because of their copies.
    pub flows: u64,
    /// Durable entries that live on here.
    pub entries: u64,
    /// Copies that could not be installed: no room, a key that is another's, or bytes that are no
    /// entry.
    pub refused: u64,
    /// Flows on their way to the other side that stay here.
    pub cancelled: u64,
    /// Flows that were coming in, with so many entries missing: those without a copy are lost.
    pub half_received: u64,
    /// Entries that those lacked.
    pub missing: u64,
    /// Copies that nobody may use, since what their entries rest on is gone.
    pub dropped: u64,
}

impl core::ops::AddAssign for Reclaimed {
    fn add_assign(&mut self, other: Self) {
        self.flows += other.flows;
        self.entries += other.entries;
        self.refused += other.refused;
        self.cancelled += other.cancelled;
        self.half_received += other.half_received;
        self.missing += other.missing;
        self.dropped += other.dropped;
    }
}
