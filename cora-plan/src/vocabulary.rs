//! The words of graphs and plans, as JSON and TOML spell them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Total number of flows for [`Placement::nic_share`](crate::placement::Placement::nic_share).
pub const SHARE_OF: u16 = 1024;

/// Total number of buckets.
pub const BUCKETS: u16 = 256;

/// Declared kind of a state, which determines its possible holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One entry per key.
    Keyed,
    /// One value.
    Singleton,
    /// One value per bucket.
    PerBucket,
    /// One replica per side; their merge is the value.
    Commutative,
    /// Replaced in whole versions by the control plane.
    ReadMostly,
}

/// The keys of packets that reply, against the keys of those that they answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// Both ends exchanged.
    #[default]
    Reversed,
    /// A handler chooses the address that answers; the ports are those, exchanged.
    SamePorts,
    /// A handler chooses, and the port that decides the bucket is of the same bucket.
    BucketPort,
    /// A handler chooses.
    Any,
}

/// What decides the bucket of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BucketsBy {
    /// A keyed hash of the group key.
    #[default]
    Group,
    /// A keyed hash of protocol and ports.
    Ports,
    /// Bits of the port at the inside end.
    InsidePort,
    /// Bits of the port at the outside end.
    OutsidePort,
}

impl BucketsBy {
    /// Whether a port decides.
    pub fn is_port(self) -> bool {
        matches!(self, Self::InsidePort | Self::OutsidePort)
    }
}

/// Place of a state in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Entries are at the side that owns their flow.
    Travels,
    /// Only the NIC holds it.
    Nic,
    /// Only the host holds it.
    Host,
    /// Both sides hold a replica.
    Replica,
    /// Each bucket's value is at the side that has the bucket.
    Divided,
    /// The host holds it, and the NIC reads copies of its items.
    Fetched,
}

/// The sides that run packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sides {
    /// The host runs everything; the NIC forwards packets.
    HostOnly,
    /// The NIC runs everything.
    NicOnly,
    /// Each flow is owned by one side at a time.
    Split,
    /// Each side receives its own buckets, and runs them.
    Dealt,
}

impl Kind {
    /// The word, as a graph spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::Singleton => "singleton",
            Self::PerBucket => "per-bucket",
            Self::Commutative => "commutative",
            Self::ReadMostly => "read-mostly",
        }
    }
}

impl Place {
    /// Every place, in the order in which messages list them.
    pub const ALL: [Self; 6] =
        [Self::Travels, Self::Nic, Self::Host, Self::Replica, Self::Divided, Self::Fetched];

    /// The word, as a plan spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Travels => "travels",
            Self::Nic => "nic",
            Self::Host => "host",
            Self::Replica => "replica",
            Self::Divided => "divided",
            Self::Fetched => "fetched",
        }
    }

    /// Whether the host holds all of it, alone.
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Host | Self::Fetched)
    }
}

impl Sides {
    /// Every stated plan, in the order in which messages list them.
    pub const ALL: [Self; 4] = [Self::HostOnly, Self::NicOnly, Self::Split, Self::Dealt];

    /// The word, which is also the plan's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::NicOnly => "nic-only",
            Self::Split => "split",
            Self::Dealt => "dealt",
        }
    }

    /// The sides of this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sides| sides.word() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
