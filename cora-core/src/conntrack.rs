//! The state of a TCP connection, as a middlebox derives it from the segments it sees.
//!
//! States and transitions follow the table of Linux's conntrack
//! (`net/netfilter/nf_conntrack_proto_tcp.c`), which operators know and which is proven by the
//! world's traffic. The differences: only a SYN opens a connection; [`TcpState::pick_up`]
//! explicitly picks up a running one. Sequence numbers are not tracked, so a guessed RST closes a
//! connection here.
//!
//! The same type opens and tracks exchanges of other transports, since a table holds all of them:
//! they stay in [`TcpState::New`]. An ICMP question opens a query; from then on questions go one
//! way and answers the other. An ICMP error opens nothing.
//!
//! ```text
//! New ─SYN→ SynSent ─reply SYN+ACK→ SynReceived ─ACK→ Established ─FIN→ FinWait ─ACK→ CloseWait
//!             │ reply SYN                ↑                                │ FIN          │ FIN
//!             └→ SimultaneousOpen ─SYN+ACK┘              TimeWait ←ACK─ LastAck ←─────────┘
//! any ─RST→ Closed;  TimeWait, Closed ─SYN→ SynSent
//! ```

use core::fmt;

use crate::key::protocol;
use crate::packet::{Headers, Query, TcpFlags};
use crate::plain::{Describe, Plain};
use crate::state::table::Direction;
use crate::verdict::Reason;
use crate::verdict::reasons::{BadTcpState, NotAllowed};

/// The state of a TCP connection. "Original" is the direction of the connection's first segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum TcpState {
    /// No segment accepted yet.
    #[default]
    New = 0,
    /// The original direction has sent SYN.
    SynSent = 1,
    /// Both ends have sent SYN, neither has acknowledged: a simultaneous open.
    SimultaneousOpen = 2,
    /// A SYN was answered with SYN and ACK.
    SynReceived = 3,
    /// The handshake is complete.
    Established = 4,
    /// One end has sent FIN.
    FinWait = 5,
    /// That FIN was acknowledged: the connection is half closed.
    CloseWait = 6,
    /// Both have sent FIN.
    LastAck = 7,
    /// Both FINs were acknowledged.
    TimeWait = 8,
    /// One end has sent RST.
    Closed = 9,
}

/// The role of a segment for the connection, by its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Syn,
    SynAck,
    Fin,
    Ack,
    Rst,
}

impl Segment {
    /// `None` for flags that are invalid in any connection: none at all, SYN with FIN or RST, FIN
    /// with RST, and FIN, data or urgent data without ACK.
    #[inline]
    const fn of(flags: TcpFlags) -> Option<Self> {
        match (flags.syn(), flags.fin(), flags.rst(), flags.ack()) {
            (true, false, false, false) => Some(Self::Syn),
            (true, false, false, true) => Some(Self::SynAck),
            (false, true, false, true) => Some(Self::Fin),
            (false, false, false, true) => Some(Self::Ack),
            (false, false, true, _) => Some(Self::Rst),
            _ => None,
        }
    }
}

/// The effect of a segment on a state.
#[derive(Clone, Copy)]
enum Move {
    /// The state becomes this one.
    To(TcpState),
    /// Validity depends on the other end's answer: forward the segment, keep the state.
    Stay,
    /// Invalid.
    Refuse,
}

/// Transitions by state, for segments `[Syn, SynAck, Fin, Ack, Rst]`.
type Moves = [[Move; 5]; 10];

const RE: Move = Move::Refuse;
const ST: Move = Move::Stay;
const SS: Move = Move::To(TcpState::SynSent);
const SO: Move = Move::To(TcpState::SimultaneousOpen);
const SR: Move = Move::To(TcpState::SynReceived);
const ES: Move = Move::To(TcpState::Established);
const FW: Move = Move::To(TcpState::FinWait);
const CW: Move = Move::To(TcpState::CloseWait);
const LA: Move = Move::To(TcpState::LastAck);
const TW: Move = Move::To(TcpState::TimeWait);
const CL: Move = Move::To(TcpState::Closed);

/// A SYN within a connection has no effect: the other end answers with an ACK of its own state (RFC
/// 9293, 3.10.7.4), unless the connection is long dead there.
#[rustfmt::skip]
const ORIGINAL: Moves = [
    //                     Syn SynAck Fin Ack Rst
    /* New              */ [SS, RE,   RE, RE, RE],
    /* SynSent          */ [SS, RE,   RE, RE, CL],
    /* SimultaneousOpen */ [SO, SR,   RE, RE, CL],
    /* SynReceived      */ [ST, ST,   FW, ES, CL],
    /* Established      */ [ST, ST,   FW, ES, CL],
    /* FinWait          */ [ST, ST,   LA, CW, CL],
    /* CloseWait        */ [ST, ST,   LA, CW, CL],
    /* LastAck          */ [ST, ST,   LA, TW, CL],
    /* TimeWait         */ [SS, ST,   TW, TW, CL],
    /* Closed           */ [SS, ST,   CL, CL, CL],
];

/// The reply to the first SYN may be an ACK for an earlier connection, half open at the other end.
#[rustfmt::skip]
const REPLY: Moves = [
    //                     Syn SynAck Fin Ack Rst
    /* New              */ [RE, RE,   RE, RE, RE],
    /* SynSent          */ [SO, SR,   RE, ST, CL],
    /* SimultaneousOpen */ [SO, SR,   RE, ST, CL],
    /* SynReceived      */ [RE, ST,   FW, SR, CL],
    /* Established      */ [RE, ST,   FW, ES, CL],
    /* FinWait          */ [RE, ST,   LA, CW, CL],
    /* CloseWait        */ [RE, ST,   LA, CW, CL],
    /* LastAck          */ [RE, ST,   LA, TW, CL],
    /* TimeWait         */ [RE, ST,   TW, TW, CL],
    /* Closed           */ [RE, ST,   CL, CL, CL],
];

/// The flags that [`Segment::of`] reads (FIN, SYN, RST, ACK), and PSH, which it ignores.
const KNOWN_FLAGS: u8 = 0x1f;

/// The flags that it reads.
const COUNTING_FLAGS: u8 = KNOWN_FLAGS & !TcpFlags::PSH.0;

/// The state after a segment, by state, direction and flags: one table access per packet.
static AFTER: [[[Option<TcpState>; 32]; 2]; 10] = {
    let mut after = [[[None; 32]; 2]; 10];
    let mut state = 0;
    while state < 10 {
        after[state] = [by_flags(&ORIGINAL, state), by_flags(&REPLY, state)];
        state += 1;
    }
    after
};

/// An ACK from either end leaves an established connection unchanged.
const _: () = {
    let (state, ack) = (TcpState::Established as usize, Segment::Ack as usize);
    assert!(matches!(ORIGINAL[state][ack], Move::To(TcpState::Established)));
    assert!(matches!(REPLY[state][ack], Move::To(TcpState::Established)));
};

const fn by_flags(moves: &Moves, state: usize) -> [Option<TcpState>; 32] {
    let mut by_flags = [None; 32];
    let mut flags = 0;
    while flags < 32 {
        if let Some(segment) = Segment::of(TcpFlags(flags as u8)) {
            by_flags[flags] = match moves[state][segment as usize] {
                Move::To(to) => Some(to),
                Move::Stay => Some(TcpState::ALL[state]),
                Move::Refuse => None,
            };
        }
        flags += 1;
    }
    by_flags
}

impl TcpState {
    /// Number of states.
    pub(crate) const COUNT: usize = 10;

    /// All states, in the order of their numbers.
    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::New,
        Self::SynSent,
        Self::SimultaneousOpen,
        Self::SynReceived,
        Self::Established,
        Self::FinWait,
        Self::CloseWait,
        Self::LastAck,
        Self::TimeWait,
        Self::Closed,
    ];

    /// The state of a connection after the packet that opens it: a TCP SYN, an ICMP question, or
    /// any packet of other transports.
    ///
    /// Refused with `bad-tcp-state` for another segment, with `not-allowed` for other ICMP
    /// messages: an answer without a question, an error without a known flow.
    pub fn open(packet: &Headers<'_>) -> Result<Self, Reason> {
        Self::begin(packet, false)
    }

    /// The same for a program that also accepts connections with an unseen beginning, as after a
    /// restart: an ACK belongs to a running one.
    pub fn pick_up(packet: &Headers<'_>) -> Result<Self, Reason> {
        Self::begin(packet, true)
    }

    fn begin(packet: &Headers<'_>, running: bool) -> Result<Self, Reason> {
        match packet.protocol()? {
            protocol::TCP => match packet.tcp_flags().and_then(Segment::of) {
                Some(Segment::Syn) => Ok(Self::SynSent),
                Some(Segment::Ack) if running => Ok(Self::Established),
                _ => Err(BadTcpState),
            },
            protocol::ICMP | protocol::ICMPV6 => match packet.icmp_query() {
                Some(Query::Question) => Ok(Self::New),
                Some(Query::Answer) | None => Err(NotAllowed),
            },
            _ => Ok(Self::New),
        }
    }

    /// Whether a packet begins a new connection in place of this one, which is closed. Choices made
    /// for the old connection then don't apply to the new one.
    #[inline]
    pub fn reopens(self, packet: &Headers<'_>) -> bool {
        self.is_closed() && packet.tcp_flags().and_then(Segment::of) == Some(Segment::Syn)
    }

    /// Updates the state for a packet in `direction`; other transports than TCP change nothing.
    ///
    /// Refused with `bad-tcp-state` for an invalid segment. Refused with `not-allowed` for an ICMP
    /// question in the direction of answers, or an answer in the direction of questions. The state
    /// is then unchanged.
    #[inline]
    pub fn advance(&mut self, packet: &Headers<'_>, direction: Direction) -> Result<(), Reason> {
        let Some(flags) = packet.tcp_flags() else { return Self::converse(packet, direction) };
        // Nearly all segments are like this, and don't change the state.
        if *self == Self::Established && flags.0 & COUNTING_FLAGS == TcpFlags::ACK.0 {
            return Ok(());
        }
        *self = self.after(flags, direction).ok_or(BadTcpState)?;
        Ok(())
    }

    /// Whether a packet of another transport than TCP may travel in `direction`.
    #[inline]
    fn converse(packet: &Headers<'_>, direction: Direction) -> Result<(), Reason> {
        match (packet.icmp_query(), direction) {
            (Some(Query::Question), Direction::Reply)
            | (Some(Query::Answer), Direction::Original) => Err(NotAllowed),
            _ => Ok(()),
        }
    }

    /// The state after a segment with these flags; `None` if it is invalid.
    #[inline]
    const fn after(self, flags: TcpFlags, direction: Direction) -> Option<Self> {
        let reply = matches!(direction, Direction::Reply) as usize;
        AFTER[self as usize][reply][(flags.0 & KNOWN_FLAGS) as usize]
    }

    /// Whether the connection is closed: both ends have closed it, or one has reset it. Later
    /// segments are retransmissions, or a SYN that reopens it.
    #[inline]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::TimeWait | Self::Closed)
    }

    /// Whether more packets are expected, for eviction from a full table: the connection is neither
    /// merely requested nor about to end. Other transports than TCP always continue.
    #[inline]
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::New | Self::Established | Self::FinWait | Self::CloseWait)
    }

    /// The name of the state in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::SynSent => "syn-sent",
            Self::SimultaneousOpen => "simultaneous-open",
            Self::SynReceived => "syn-received",
            Self::Established => "established",
            Self::FinWait => "fin-wait",
            Self::CloseWait => "close-wait",
            Self::LastAck => "last-ack",
            Self::TimeWait => "time-wait",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for TcpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Plain for TcpState {
    const SIZE: usize = 1;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        out[0] = *self as u8;
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Self::ALL.get(usize::from(*bytes.first()?)).copied()
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}
