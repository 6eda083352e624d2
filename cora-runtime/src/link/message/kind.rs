//! All kinds of messages, in one table: it makes the enums, their encoding and decoding, and the
//! names that errors say. The lines of [`Questions`] stand in `asked`.
//!
//! A line of the table is a number, a name, fields, and the half that reads it: `dealt` are both
//! halves of a program whose buckets are dealt, `messages` those of one with messages, and no
//! others have the code. Fields lie in the record in this order, little end first ([`Field`]). A
//! `sized` field has its length before it; a `rest` takes the rest of the record. A number is never
//! given to another kind. A change of a line changes
//! [`LAYOUT_VERSION`](crate::link::region::LAYOUT_VERSION).

use super::field::{Field, GroupKey, Keys, Label, Name};
use super::{Answer, Load, Message, Report, Stamp, Stay};
use crate::link::payload::Parked;

impl Kind {
    /// Its number.
    #[must_use]
    #[inline(always)]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The kind with this number.
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// Its name, as errors say it.
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn name(self) -> &'static str {
        let before = Self::ALL.iter().take_while(|kind| **kind != self).count();
        let mut begins = 0;
        let mut words = 0;
        for (at, byte) in Self::NAMES.bytes().enumerate() {
            if byte != b' ' {
                continue;
            }
            if words == before {
                return Self::NAMES.get(begins..at).unwrap_or_default();
            }
            words += 1;
            begins = at + 1;
        }
        ""
    }

    /// Whether a record of this kind is about a bucket that moves.
    #[must_use]
    #[inline]
    pub const fn is_of_deal(number: u16) -> bool {
        Self::Owns.number() <= number && number <= Self::Waits.number()
    }

    /// Whether a record of this kind may be part of a change on the wire.
    #[must_use]
    #[inline(always)]
    pub fn is_of_change(number: u16) -> bool {
        number == Self::Piece || number == Self::Change || number == Self::Changed
    }
}

/// The kind in a record's header is compared with those of the table.
impl PartialEq<Kind> for u16 {
    #[inline(always)]
    fn eq(&self, kind: &Kind) -> bool {
        *self == kind.number()
    }
}

with_questions! { protocols {
    /// Frames: in at the wire, to the host, and out.
    Frames {
        /// A frame on the wire: in, or out as the NIC handled it.
        1 Frame {
            /// Its stamp.
            stamp: Stamp,
            /// Its bytes.
            frame: &'a [u8] as rest,
        } read by both,
        /// The wire has no more frames.
        2 WireEnd {
            /// The time of the last frame, which may have come to another NIC core.
            now: u64,
        } read by nic,
        /// A packet for the host to handle; of a long one maybe the head alone, as its stamp says.
        3 Punt {
            /// Its stamp.
            stamp: Stamp,
            /// Its bytes.
            frame: &'a [u8] as rest,
        } read by host,
        /// A packet that the host handled, for the wire, and then on the wire. If the host got its
        /// head alone, so does the NIC. At the port of messages: one for the NIC to handle.
        11 Send {
            /// Its stamp.
            stamp: Stamp,
            /// Its bytes.
            frame: &'a [u8] as rest,
        } read by both,
        /// The NIC has handled messages that the host sent it, or passed them on.
        55 Handled {
            /// How many in all.
            messages: u64,
        } read by host,
        /// Messages wait at the NIC for flows that move, or behind one that left amid a cascade; or
        /// none does any more.
        57 Holds {
            /// 0, or more.
            messages: u64,
        } read by host,
        /// A packet ends at the host, which got its head alone: the rest of its frame is free.
        32 Ended {
            /// The rest.
            parked: Parked,
        } read by nic,
    }

    /// Who owns a flow, and how that changes.
    Ownership {
        /// The NIC gives up a flow: this many entries follow.
        4 Release {
            /// How many punts the flow has had, this one included.
            punts: u32,
            /// Entries that follow.
            entries: u32,
            /// The flow's group key, encoded.
            group: &'a [u8] as rest,
        } read by host,
        /// An entry of the flow that the latest `Release` or `Transfer` is about.
        5 Entry {
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by both,
        /// In place of `Entry`: the entry expired meanwhile.
        34 Vanished {
        } read by both,
        /// All packets of the offered flow that came before stand before this on the ring.
        6 Fence {
            /// The offer's ticket.
            ticket: u32,
        } read by host,
        /// The NIC does not take the offered flow.
        7 Decline {
            /// The offer's ticket.
            ticket: u32,
        } read by host,
        /// The host offers a flow to the NIC.
        8 Offer {
            /// Answers refer to it.
            ticket: u32,
            /// How many punts the flow has had.
            punts: u32,
            /// Keys beside the group key that find the flow.
            keys: Keys<'a> as sized,
            /// The group key, encoded.
            group: &'a [u8] as rest,
        } read by nic,
        /// The host hands the offered flow over: this many entries follow.
        9 Transfer {
            /// The offer's ticket.
            ticket: u32,
            /// Entries that follow.
            entries: u32,
        } read by nic,
        /// The host keeps the offered flow: it changed meanwhile.
        10 Withdraw {
            /// The offer's ticket.
            ticket: u32,
        } read by nic,
        /// The host wants a flow back. The NIC answers with `Release` if it owns the flow, and not
        /// at all otherwise.
        17 Recall {
            /// Its group key, encoded.
            group: &'a [u8] as rest,
        } read by nic,
        /// The host has flows that earn more than an idle one at the NIC, which should come back.
        /// The NIC answers with `Release` if it has one, and not at all otherwise.
        31 MakeRoom {
            /// A flow is idle if nobody used it for so many nanoseconds of packet time.
            idle: u64,
        } read by nic,
        /// To a host that was started anew: the NIC owns this flow.
        27 Owned {
            /// Its group key, encoded.
            group: &'a [u8] as rest,
        } read by host,
        /// The NIC owns none beside those.
        28 AllOwned {
            /// How many those are.
            flows: u64,
        } read by host,
    }

    /// Copies of durable entries that the NIC owns.
    Durability {
        /// An entry of a durable state is this now.
        24 Copy {
            /// The state's number.
            state: u16,
            /// The group key of its flow.
            group: GroupKey<'a> as sized,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by host,
        /// A durable entry is no more.
        25 Erase {
            /// The state's number.
            state: u16,
            /// Its key, encoded.
            key: &'a [u8] as rest,
        } read by host,
        /// In place of `Entry`: the durable entry is as its copy says.
        26 Same {
            /// The state's number.
            state: u16,
            /// When a packet last found it (ns).
            used: u64,
            /// Its key, encoded.
            key: &'a [u8] as rest,
        } read by host,
    }

    /// Entries of recorded states that ended at the NIC.
    Records {
        /// An entry expired.
        29 Expired {
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by host,
        /// A packet took an entry out.
        30 Removed {
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by host,
        /// An entry made room for another one.
        33 Evicted {
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by host,
        /// An entry ended, and there was no room to keep it until it was told.
        35 Unkept {
            /// The state's number.
            state: u16,
        } read by host,
    }

    /// For the hooks and timers that the host runs.
    Hooks {
        /// An entry expired: its hook is to run.
        38 Over {
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by host,
        /// No older packet is to come, and each entry is told that ended well before. On the wire:
        /// no older packet is to come.
        39 Reached {
            /// The time (ns).
            now: u64,
        } read by both,
        /// A message waits at the host, which wants to hear that this much time has passed.
        58 WakeAt {
            /// When it is due (ns).
            until: u64,
        } read by nic,
    }

    /// For states that handlers read as of the last merge.
    Merges {
        /// An epoch begins, between two packets: the sides' replicas are merged as they are here.
        /// On the wire, for a program with several shards: it begins for all of them.
        40 Turn {
            /// When it ends (ns of packet time).
            ends: u64,
            /// 1 if it follows the one before, which had packets; else 0, and on the wire.
            follows: u16,
        } read by both,
        /// Part of a side's replica.
        41 Part {
            /// The state's number.
            state: u16,
            /// The part.
            piece: &'a [u8] as rest,
        } read by both,
        /// Those were all parts.
        42 Whole {
        } read by both,
    }

    /// Buckets that move between shards, and packets that came to the wrong one. The wire tells a
    /// half, or a half the wire.
    Deals {
        /// These buckets are the half's, and no others.
        43 Owns {
            /// The set.
            buckets: &'a [u8] as rest,
        } read by dealt,
        /// These buckets will go.
        44 Leaving {
            /// The move's number.
            epoch: u64,
            /// The time of the latest packet at the wire (ns of packet time); 0 before the first.
            now: u64,
            /// The set.
            buckets: &'a [u8] as rest,
        } read by dealt,
        /// These buckets will come: packets of them are held.
        45 Coming {
            /// The move's number.
            epoch: u64,
            /// The time of the latest packet at the wire (ns of packet time); 0 before the first.
            now: u64,
            /// The set.
            buckets: &'a [u8] as rest,
        } read by dealt,
        /// No more packets come of the buckets that leave.
        46 Going {
            /// The move's number.
            epoch: u64,
        } read by dealt,
        /// An entry of a bucket that moves.
        47 Moved {
            /// The move's number.
            epoch: u64,
            /// The bucket's number.
            bucket: u16,
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by dealt,
        /// An entry of a bucket that moves, which ended: its hook has not run.
        54 Waits {
            /// The move's number.
            epoch: u64,
            /// When it ended (ns of packet time).
            end: u64,
            /// The bucket's number.
            bucket: u16,
            /// The state's number.
            state: u16,
            /// The whole entry.
            piece: &'a [u8] as rest,
        } read by dealt,
        /// Part of the value of a bucket that moves.
        48 Value {
            /// The move's number.
            epoch: u64,
            /// The state's number.
            state: u16,
            /// The part, which says the bucket.
            piece: &'a [u8] as rest,
        } read by dealt,
        /// That was all of the buckets that leave.
        49 Gone {
            /// The move's number.
            epoch: u64,
        } read by dealt,
        /// What came of them so far is void: the half that had them died.
        50 Void {
            /// The move's number.
            epoch: u64,
        } read by dealt,
        /// They are here.
        51 Arrived {
            /// The move's number.
            epoch: u64,
        } read by dealt,
        /// These buckets stay where they are: the flow table has no room for their rules.
        53 Stays {
            /// The move's number.
            epoch: u64,
            /// The set.
            buckets: &'a [u8] as rest,
        } read by dealt,
        /// A packet of another shard's bucket.
        52 Stray {
            /// Its stamp.
            stamp: Stamp,
            /// Its bytes.
            frame: &'a [u8] as rest,
        } read by dealt,
    }

    /// A run's beginning and end, and the contents of states.
    Control {
        /// The host is ready: the NIC may read the wire.
        16 Begin {
        } read by nic,
        /// Nothing of this side is on its way any more.
        12 Drained {
            /// The run's time at this side.
            now: u64,
        } read by both,
        /// Part of a state: configuration at the start, contents at the end, and in between part of
        /// a change of read-mostly states. The NIC passes changes on to the host.
        13 Piece {
            /// The state's number.
            state: u16,
            /// The part.
            piece: &'a [u8] as rest,
        } read by both,
        /// On the wire, between two frames: a change of read-mostly states begins.
        36 Change {
            /// The number of the version that it makes.
            version: u32,
        } read by both,
        /// The change is whole.
        37 Changed {
            /// The number of the version that it makes.
            version: u32,
            /// How many pieces it has.
            pieces: u32,
        } read by both,
        /// Which of the shards this one is, for a program with messages. Without it, there is one
        /// alone.
        63 Shard {
            /// Its number.
            number: u16,
            /// How many there are.
            of: u16,
            /// The run's seed, which decides over the shard of a flow.
            seed: u64,
        } read by messages,
        /// On the wire, behind the last packets: a question that goes by the host, and comes back
        /// behind all that was brought about by what was in front of it.
        64 Quiet {
            /// Its number.
            wave: u64,
        } read by messages,
    }

    /// What the NIC counts and sees.
    Telemetry {
        /// A count of outcomes of one name.
        14 Outcome {
            /// Packets.
            count: u64,
            /// The outcome's name.
            name: Name<'a> as rest,
        } read by host,
        /// The NIC's counts, at its end.
        15 Report {
            /// The counts.
            report: Report,
        } read by host,
        /// The NIC should tell its load.
        20 Watch {
            /// Every so many nanoseconds of its clock.
            every: u64,
        } read by nic,
        /// What messages may cost before their class waits behind the bursts (ns).
        61 Limit {
            /// The tail of a class.
            tail: u64,
            /// A round over those that wait.
            round: u64,
            /// The mean of all, waiting included.
            mean: u64,
        } read by nic,
        /// Classes of which the NIC keeps no flow for now, since it has too much to do.
        62 Pushed {
            /// A bit for each.
            classes: u64,
        } read by host,
        /// The NIC's load so far; its busiest flows follow.
        18 Load {
            /// The load.
            load: Load,
        } read by host,
        /// One of the flows with most packets at the NIC.
        19 Talker {
            /// Its sampled packets, at most.
            count: u32,
            /// By how many that may be too high.
            error: u32,
            /// Its group key, encoded.
            group: &'a [u8] as rest,
        } read by host,
    }
}}
