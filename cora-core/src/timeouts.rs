//! Idle times of connections, by protocol and state.
//!
//! | | [`Timeouts::NAT`] | [`Timeouts::TRACKING`] |
//! | --- | --- | --- |
//! | TCP, established | 2 h 4 min (RFC 5382, REQ-5) | the same |
//! | TCP, opening or closing | 4 min (RFC 5382, REQ-5; RFC 7857) | 10 s to 2 min by its state |
//! | UDP | 5 min (RFC 4787, REQ-5) | 30 s, 3 min once it was answered |
//! | queries of ICMP | 60 s (RFC 5508, REQ-2) | 30 s |
//! | other transports | 5 min | as UDP |
//!
//! The first is for translators, which hold a port for the connection. The second, from Linux's
//! conntrack, is for firewalls, which a flood of openings must not fill.

use core::time::Duration;

use crate::conntrack::TcpState;
use crate::key::protocol;
use crate::plain::{Describe, Plain};

/// Idle times in seconds, by protocol and state. A program has one as a constant, or as a field of
/// a read-mostly state, made by [`Timeouts::with`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// By TCP state, with an unused value for [`TcpState::New`]; then those of [`NAMES`].
    seconds: [u16; TIMES],
}

/// The positions of times without a TCP state.
const UDP: usize = TcpState::COUNT;
const UDP_ANSWERED: usize = UDP + 1;
const ICMP: usize = UDP + 2;
const OTHER: usize = UDP + 3;
const OTHER_ANSWERED: usize = UDP + 4;

const TIMES: usize = UDP + NAMES.len();

/// Their names.
const NAMES: [&str; 5] = ["udp", "udp-answered", "icmp", "other", "other-answered"];

/// RFC 5382, REQ-5: two hours and four minutes.
const ESTABLISHED: u16 = 2 * 3600 + 4 * 60;

impl Timeouts {
    /// For translators: as required by RFC 5382, RFC 4787 and RFC 5508.
    pub const NAT: Self = Self {
        seconds: [0, 240, 240, 240, ESTABLISHED, 240, 240, 240, 240, 240, 300, 300, 60, 300, 300],
    };

    /// For firewalls: established connections as RFC 5382 requires, all others as in Linux's
    /// conntrack.
    pub const TRACKING: Self = Self {
        seconds: [0, 120, 120, 60, ESTABLISHED, 120, 60, 30, 120, 10, 30, 180, 30, 30, 180],
    };

    /// The idle time of a connection of this protocol, in seconds: for TCP by its state, for others
    /// by whether it was answered. At least 1.
    #[inline]
    pub const fn seconds(&self, protocol: u8, tcp: TcpState, answered: bool) -> u16 {
        let at = match (protocol, answered) {
            (protocol::TCP, _) => tcp as usize,
            (protocol::UDP, false) => UDP,
            (protocol::UDP, true) => UDP_ANSWERED,
            (protocol::ICMP | protocol::ICMPV6, _) => ICMP,
            (_, false) => OTHER,
            (_, true) => OTHER_ANSWERED,
        };
        match self.seconds[at] {
            0 => 1,
            seconds => seconds,
        }
    }

    /// These times, changed by the lines of a text, each `NAME SECONDS`. The name is that of a
    /// [`TcpState`], or `udp`, `udp-answered`, `icmp`, `other` or `other-answered`; `#` begins a
    /// comment. A time is from 1 to `most` seconds, which is the `idle` of a state that uses them.
    ///
    /// # Errors
    /// The fault, as text.
    pub fn with(mut self, text: &str, most: u16) -> Result<Self, &'static str> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            const FORM: &str = "a line is `NAME SECONDS`, the name that of a TCP state, `udp`, \
                                `udp-answered`, `icmp`, `other` or `other-answered`";
            let (name, seconds) = line.split_once(char::is_whitespace).ok_or(FORM)?;
            let place = Self::place(name).and_then(|at| self.seconds.get_mut(at)).ok_or(FORM)?;
            let seconds = seconds.trim().parse().map_err(|_| "seconds are a whole number")?;
            if seconds == 0 || seconds > most {
                return Err(
                    "a time is from 1 second to the longest that the state's `idle` allows",
                );
            }
            *place = seconds;
        }
        Ok(self)
    }

    fn place(name: &str) -> Option<usize> {
        let tcp = TcpState::ALL.iter().skip(1).position(|state| state.name() == name);
        let others = || NAMES.iter().position(|of| *of == name).map(|at| TcpState::COUNT + at);
        tcp.map(|at| at + 1).or_else(others)
    }
}

impl TcpState {
    /// The idle time of a connection in this state, as in [`Timeouts::NAT`]; five minutes for other
    /// transports than TCP, as RFC 4787 (REQ-5) recommends for UDP. For `idle_by`.
    #[inline]
    pub const fn idle(self) -> Duration {
        Duration::from_secs(match self {
            Self::Established => ESTABLISHED as u64,
            Self::New => 300,
            _ => 240,
        })
    }
}

impl Plain for Timeouts {
    const SIZE: usize = 2 * TIMES;
    fn put(&self, out: &mut [u8]) {
        self.seconds.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { seconds: Plain::get(bytes)? })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.seconds.describe(to);
    }
}
