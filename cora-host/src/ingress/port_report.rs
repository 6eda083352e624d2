//! The report of a port.

use std::collections::BTreeMap;

use cora_core::packet::Port as Side;
use cora_port::{Counters, Link, OnReceive, Port, PortName};
use serde::{Deserialize, Serialize};

/// A port, at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PortReport {
    /// Its number.
    pub(crate) number: u8,
    /// What it is, as typed.
    pub(crate) name: String,
    /// Frames that it received.
    pub(crate) received: u64,
    /// Frames that it sent.
    pub(crate) transmitted: u64,
    /// Frames dropped at it, in either direction, by name.
    pub(crate) dropped: BTreeMap<String, u64>,
    /// Other counts, by name.
    pub(crate) remarks: BTreeMap<String, u64>,
    /// Whether the link was up.
    pub(crate) link: String,
    /// MTU of its frames, in bytes.
    pub(crate) mtu: usize,
    /// The treatment of checksums in received frames.
    pub(crate) checksums: String,
    /// Its findings and choices.
    pub(crate) notes: Vec<String>,
}

impl PortReport {
    /// The report of the port with this number, which counted so much.
    pub(crate) fn of(number: Side, device: &PortName, port: &dyn Port, counters: Counters) -> Self {
        let some = |counts: &[(&'static str, u64)]| {
            counts
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        Self {
            number: number.0,
            name: device.to_string(),
            received: counters.received,
            transmitted: counters.transmitted,
            dropped: some(&counters.outcomes()),
            remarks: some(&counters.remarks()),
            link: match port.link() {
                Link::Up => "up",
                Link::Down => "down",
            }
            .to_owned(),
            mtu: port.mtu(),
            checksums: match port.checksums().on_receive {
                OnReceive::AsTheyCame => "as they came",
                OnReceive::Finished => "finished where the kernel says that the sender did not",
                OnReceive::FinishedByLook => "finished where the sender evidently did not",
                OnReceive::Made => "made by the port",
            }
            .to_owned(),
            notes: port.notes(),
        }
    }
}
