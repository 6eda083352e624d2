//! NIC profiles: what one NIC, and the host that it sits in, can do, and what each operation costs
//! there.
//!
//! Three tiers can handle a packet: a table of flows in hardware, the NIC's cores, the host's
//! cores. Costs are nanoseconds of one core.
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
    /// What it is called: `bluefield2`.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// The NIC's cores.
    pub nic: Tier,
    /// The host's cores.
    pub host: Tier,
    /// The rings between them.
    pub link: Link,
    /// The hardware's table of flows, where the NIC has one.
    pub flow_table: Option<FlowTable>,
}

/// Cores of one kind, and their memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// What they are: `Cortex-A72`.
    pub core: String,
    /// How many may run handlers.
    pub cores: Figure,
    /// Which share of a core's time a plan may use, above 0, at most 1: the rest is for what no
    /// plan foresees.
    pub busy: Figure,
    /// An instruction, when all its data are in the first cache.
    pub instruction_ns: Figure,
    /// A branch that the core foretold wrongly, beyond that: what it had begun of what does not
    /// come.
    pub mispredict_ns: Figure,
    /// Receiving and sending a frame, apart from handlers and copies; on the host, what a frame
    /// costs beside them.
    pub packet_ns: Figure,
    /// Copying a byte of a frame.
    pub byte_ns: Figure,
    /// Caches, the nearest first: sizes and latencies rise.
    pub caches: Vec<Cache>,
    /// A load that no cache answers.
    pub memory_ns: Figure,
    /// Which share of a look-up's latency stays, 0 to 1, when lines are asked for a burst ahead.
    pub exposed: Figure,
    /// Making an entry, beyond the instructions of the handler that asks for it.
    pub insert_ns: Figure,
    /// Freeing an entry, in the same sense; when it expired, too.
    pub remove_ns: Figure,
    /// Memory for states, in bytes.
    pub state_bytes: Figure,
}

/// One cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// Its bytes.
    pub bytes: Figure,
    /// A load that it answers.
    pub latency_ns: Figure,
    /// How many cores share it.
    pub shared_by: Figure,
}

/// The rings between NIC and host. A crossing is one packet to the host and what becomes of it
/// back.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What a crossing costs a NIC core.
    pub nic_ns: Figure,
    /// What it costs a host core.
    pub host_ns: Figure,
    /// Each byte of frame that crosses, at each side.
    pub byte_ns: Figure,
    /// Finding out who owns a packet's flow, at the NIC: each packet's under a split, whoever does.
    pub owner_ns: Figure,
    /// Which share of the latency of the owner's record stays, 0 to 1, at either side: 1 where
    /// nobody asks for it ahead.
    pub owner_exposed: Figure,
    /// Most crossings, in millions a second, of all pairs together.
    pub mpps: Figure,
    /// Most gigabits a second, each way.
    pub gbps: Figure,
    /// What moving a flow (its entries to the host, or to the NIC) costs a NIC core.
    pub nic_move_ns: Figure,
    /// What it costs a host core.
    pub host_move_ns: Figure,
}

/// The hardware's table of flows: a hit is handled without any core.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTable {
    /// Most flows in it.
    pub entries: Figure,
    /// Most insertions a second; a removal counts as one too.
    pub inserts_per_s: Figure,
    /// What a rule can do with a packet that hits it.
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
        all.extend(self.nic.figures());
        all.extend(self.host.figures());
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

/// What a rule of a flow table can do.
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
