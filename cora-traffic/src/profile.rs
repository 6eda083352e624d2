//! The kinds of conversations in a capture, and their shares.

use std::fmt;
use std::str::FromStr;

use crate::TrafficError;

/// A mixture of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// All kinds except floods.
    Mix,
    /// Many short flows.
    Churn,
    /// Long flows; a few of them have most of the packets (Zipf's law, exponent 1.1).
    Zipf,
    /// Many fragments, malformed frames and rare protocols.
    Odd,
    /// Connections that repeatedly open and close on the same addresses and ports.
    Closing,
    /// A flood of TCP openings, and some ordinary traffic.
    Flood,
}

/// The kinds of conversation, in the order of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tcp,
    Udp,
    Echo,
    HalfOpen,
    Refused,
    Unreachable,
    Expired,
    Fragments,
    Intrusion,
    Noise,
    Broken,
    /// One opening of a flood, from an inside host.
    FloodOut,
    /// One opening of a flood, from outside.
    FloodIn,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Tcp,
        Self::Udp,
        Self::Echo,
        Self::HalfOpen,
        Self::Refused,
        Self::Unreachable,
        Self::Expired,
        Self::Fragments,
        Self::Intrusion,
        Self::Noise,
        Self::Broken,
        Self::FloodOut,
        Self::FloodIn,
    ];

    /// Returns whether it opens a flow.
    pub(crate) fn is_flow(self) -> bool {
        !matches!(self, Self::Noise | Self::Broken | Self::Fragments)
    }
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 6] =
        [Self::Mix, Self::Churn, Self::Zipf, Self::Odd, Self::Closing, Self::Flood];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Churn => "churn",
            Self::Zipf => "zipf",
            Self::Odd => "odd",
            Self::Closing => "closing",
            Self::Flood => "flood",
        }
    }

    /// Returns the weights of the kinds of conversations.
    const fn weights(self) -> [u16; 13] {
        match self {
            Self::Mix => [40, 22, 8, 5, 4, 4, 2, 4, 5, 5, 3, 0, 0],
            Self::Churn => [50, 40, 4, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0],
            Self::Zipf => [70, 25, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Self::Odd => [10, 8, 2, 0, 2, 8, 6, 20, 6, 18, 25, 0, 0],
            Self::Closing => [100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Self::Flood => [6, 6, 2, 0, 1, 0, 0, 0, 0, 1, 0, 64, 20],
        }
    }

    pub(crate) fn kind(self, random: &mut crate::random::Random) -> Kind {
        Kind::ALL[random.weighted(&self.weights())]
    }

    /// Returns the seconds of traffic over which the openings are spread.
    pub(crate) const fn seconds(self) -> u64 {
        match self {
            Self::Mix => 1_200,
            Self::Churn => 120,
            Self::Zipf | Self::Closing => 600,
            Self::Odd => 300,
            Self::Flood => 60,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = TrafficError;

    fn from_str(name: &str) -> Result<Self, TrafficError> {
        let known = Self::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or_else(|| TrafficError::UnknownProfile(name.to_owned()))
    }
}
