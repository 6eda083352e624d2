//! NIC profiles: the capacities of one NIC and its host, and the cost of each operation.
//!
//! Three tiers can handle a packet: a flow table in hardware, the NIC's cores, the host's cores.
//! Costs are nanoseconds of one core.
//!
//! ```
//! use cora_plan::nic::NicProfile;
//!
//! let nic = NicProfile::builtin("bluefield2").expect("it is built in");
//! assert_eq!(nic.nic.cores.value, 8.0);
//! assert_eq!(NicProfile::parse(&nic.to_toml()), Ok(nic));
//! ```

mod builtin;
mod error;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::ProfileError;

use crate::figure::Figure;

/// A NIC in a host.
#[derive(Clone, Debug, PartialEq)]
pub struct NicProfile {
    /// Its name: `bluefield2`.
    pub name: String,
    /// Its description, in a line.
    pub title: String,
    /// The NIC's cores.
    pub nic: Tier,
    /// The host's cores.
    pub host: Tier,
    /// The wire, and the way of frames that hardware hands to the host; `None` where frames come
    /// through memory alone.
    pub port: Option<Port>,
    /// The rings between them.
    pub link: Link,
    /// The hardware's flow table, if the NIC has one.
    pub flow_table: Option<FlowTable>,
}

/// Cores of one kind, and their memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// The name of the core: `Cortex-A72`.
    pub core: String,
    /// Number of cores that may run handlers.
    pub cores: Figure,
    /// Maximum utilisation of a core in a plan, above 0, at most 1. The rest is a reserve.
    pub busy: Figure,
    /// An instruction, if all its data hit the first-level cache.
    pub instruction_ns: Figure,
    /// The additional cost of a branch misprediction: the discarded speculative work.
    pub mispredict_ns: Figure,
    /// Receiving and sending a frame, without handlers and copies; at the host, the fixed cost of a
    /// frame besides them.
    pub packet_ns: Figure,
    /// Copying a byte of a frame.
    pub byte_ns: Figure,
    /// Caches, the nearest first; sizes and latencies rise.
    pub caches: Vec<Cache>,
    /// A load that misses every cache.
    pub memory_ns: Figure,
    /// Share of a look-up's latency that remains, 0 to 1, if the lines of a burst are prefetched.
    pub exposed: Figure,
    /// Making an entry, besides the instructions of the handler.
    pub insert_ns: Figure,
    /// Freeing an entry, in the same sense; also after expiry.
    pub remove_ns: Figure,
    /// Memory for states, in bytes.
    pub state_bytes: Figure,
}

/// One cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// Its bytes.
    pub bytes: Figure,
    /// A load that hits it.
    pub latency_ns: Figure,
    /// Number of cores that share it.
    pub shared_by: Figure,
}

/// The ports of the NIC together, and the way from there to the host without the NIC's cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Gigabits a second of the wire, each way. On it, a frame has [`Port::OVERHEAD`] bytes more.
    pub gbps: Figure,
    /// Most frames a second that the card's switch forwards, in millions.
    pub mpps: Figure,
    /// Most gigabits a second of frames from hardware to the host, each way.
    pub pcie_gbps: Figure,
    /// Receiving and sending a frame by the driver of a host core, if hardware hands it to a queue
    /// of the host: beyond its instructions and its bytes.
    pub host_ns: Figure,
}

impl Port {
    /// Bytes that a frame takes on the wire besides those of profiles: preamble and start (8),
    /// check sequence (4), and the gap to the next frame (12).
    pub const OVERHEAD: f64 = 24.0;
    /// Least bytes of a frame, without its check sequence.
    pub const SHORTEST: f64 = 60.0;

    /// Bytes on the wire of a frame, or of frames with this mean length.
    pub fn on_wire(bytes: f64) -> f64 {
        bytes.max(Self::SHORTEST) + Self::OVERHEAD
    }
}

/// The rings between NIC and host. A crossing is one packet to the host and its result back.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Cost of a crossing on a NIC core.
    pub nic_ns: Figure,
    /// Cost of a crossing on a host core.
    pub host_ns: Figure,
    /// Cost of each frame byte that crosses, at each side.
    pub byte_ns: Figure,
    /// Finding the owner of a packet's flow at the NIC. Under a split, each packet pays it, whether
    /// or not the NIC owns its flow.
    pub owner_ns: Figure,
    /// Share of the owner record's latency that remains, 0 to 1, at either side; 1 without a
    /// prefetch.
    pub owner_exposed: Figure,
    /// Maximum crossings, in millions a second, of all pairs together.
    pub mpps: Figure,
    /// Maximum gigabits a second, in each direction.
    pub gbps: Figure,
    /// Cost of moving a flow (its entries to the host, or to the NIC) on a NIC core.
    pub nic_move_ns: Figure,
    /// Cost of moving a flow on a host core.
    pub host_move_ns: Figure,
    /// Cost of a read of the host's memory on a NIC core; `None` if it can't read there.
    pub fetch_ns: Option<Figure>,
}

/// The hardware's flow table: a hit needs no core.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTable {
    /// Maximum number of flows.
    pub entries: Figure,
    /// Maximum insertions a second; a removal counts as one too.
    pub inserts_per_s: Figure,
    /// Actions that a rule supports.
    pub expresses: Vec<Rule>,
}

impl NicProfile {
    /// Every number of the profile.
    pub fn figures(&self) -> Vec<&Figure> {
        let link = &self.link;
        let mut all = vec![
            &link.nic_ns,
            &link.host_ns,
            &link.byte_ns,
            &link.mpps,
            &link.gbps,
            &link.owner_ns,
            &link.owner_exposed,
            &link.nic_move_ns,
            &link.host_move_ns,
        ];
        all.extend(&link.fetch_ns);
        all.extend(self.nic.figures());
        all.extend(self.host.figures());
        let ports = self.port.iter();
        all.extend(ports.flat_map(|it| [&it.gbps, &it.mpps, &it.pcie_gbps, &it.host_ns]));
        let tables = self.flow_table.iter();
        all.extend(tables.flat_map(|table| [&table.entries, &table.inserts_per_s]));
        all
    }
}

impl Tier {
    fn figures(&self) -> impl Iterator<Item = &Figure> {
        let own = [
            &self.cores,
            &self.busy,
            &self.instruction_ns,
            &self.mispredict_ns,
            &self.packet_ns,
            &self.byte_ns,
            &self.memory_ns,
            &self.exposed,
            &self.insert_ns,
            &self.remove_ns,
            &self.state_bytes,
        ];
        let caches = self.caches.iter().flat_map(|it| [&it.bytes, &it.latency_ns, &it.shared_by]);
        own.into_iter().chain(caches)
    }
}

/// An action of a flow table's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Send the packet to one side.
    Steer,
    /// Drop it.
    Drop,
    /// Count it.
    Count,
    /// Rewrite addresses and ports, and send it.
    Rewrite,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::Steer, Self::Drop, Self::Count, Self::Rewrite];
    /// Their words, as a profile spells them, in the same order.
    pub const WORDS: [&str; 4] = ["steer", "drop", "count", "rewrite"];

    /// The word, as a profile spells it.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}
