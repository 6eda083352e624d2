//! Questions about entries, and orders, as they are asked.

use std::path::PathBuf;

use cora_runtime::tap::SNAP;
use serde::Deserialize;

use crate::ingress::port_names::FIRST;
use crate::inspect::filter::Filter;

/// A question or an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Flows(Listing),
    Delete(Removal),
    Move(Movement),
    Tap(TapRequest),
    Trace(TraceRequest),
    /// The values of states without keys, each of at most so many bytes.
    Values {
        most: usize,
    },
}

impl Question {
    /// Whether packets are watched for it, for a while.
    pub(super) const fn watches(&self) -> bool {
        matches!(self, Self::Tap(_) | Self::Trace(TraceRequest { frame: None, .. }))
    }
}

/// Entries of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listing {
    pub(super) filter: Filter,
    /// Most entries of the answer.
    pub(super) limit: Option<usize>,
    /// Where the answer before this one stopped.
    pub(super) after: Option<String>,
}

/// Entries are to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Removal {
    pub(super) filter: Filter,
    /// Also of more than one flow.
    #[serde(default)]
    pub(super) all: bool,
}

/// Flows are to move.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Movement {
    /// `nic` or `host`.
    pub(super) to: String,
    pub(super) filter: Filter,
    /// Also more than one flow.
    #[serde(default)]
    pub(super) all: bool,
}

impl Movement {
    /// The side, as sentences name it.
    pub(super) fn side_in_words(&self) -> &str {
        if self.to == "nic" { "NIC" } else { &self.to }
    }
}

/// Packets are to be copied to a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TapRequest {
    /// A whole path.
    pub(super) file: PathBuf,
    /// `wire-in`, `wire-out`, `punt`, `drop`.
    pub(super) points: Vec<String>,
    /// Either address lies in this prefix.
    #[serde(default)]
    pub(super) net: Option<String>,
    /// Either port.
    #[serde(default)]
    pub(super) port: Option<u16>,
    /// Its name or number.
    #[serde(default)]
    pub(super) protocol: Option<String>,
    /// One of so many packets that are meant.
    #[serde(default = "one")]
    pub(super) every: u32,
    /// Most bytes of a frame.
    #[serde(default = "whole")]
    pub(super) snap: u16,
    /// Most records.
    #[serde(default = "limit")]
    pub(super) limit: u32,
    #[serde(default = "seconds")]
    pub(super) seconds: u64,
}

/// Packets are to be followed through the handlers, or the way of a made one is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceRequest {
    /// Either address lies in this prefix.
    #[serde(default)]
    pub(super) net: Option<String>,
    /// Either port.
    #[serde(default)]
    pub(super) port: Option<u16>,
    /// Its name or number.
    #[serde(default)]
    pub(super) protocol: Option<String>,
    /// Most packets.
    #[serde(default = "few")]
    pub(super) limit: u32,
    #[serde(default = "seconds")]
    pub(super) seconds: u64,
    /// The hexadecimal bytes of a made packet: nothing is followed then.
    #[serde(default)]
    pub(super) frame: Option<String>,
    /// The port where a made packet comes in.
    #[serde(default = "inside")]
    pub(super) at: String,
}

impl TraceRequest {
    /// Whether it is about a made packet.
    pub(crate) const fn is_made(&self) -> bool {
        self.frame.is_some()
    }
}

const fn one() -> u32 {
    1
}

const fn whole() -> u16 {
    SNAP as u16
}

const fn limit() -> u32 {
    1000
}

const fn seconds() -> u64 {
    10
}

const fn few() -> u32 {
    10
}

fn inside() -> String {
    FIRST[0].into()
}
