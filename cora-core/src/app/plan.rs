//! Facts of the plan that the runtimes need.

/// Facts of the plan for the runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanFacts {
    /// `host-only`, `nic-only`, `split` or `dealt`.
    pub name: &'static str,
    /// Hash of plan, graph and source. Both binaries and the shared region carry it.
    pub hash: u64,
    /// Which side runs packets.
    pub sides: Sides,
    /// Packets reach the host in order of arrival, even across flows. Either a state pinned to the
    /// host exposes its order of access in results, or the handlers choose the reply keys of a
    /// state that travels.
    pub host_ordered: bool,
    /// No state travels, so the NIC owns flows without an entry for them.
    pub stateless_flows: bool,
    /// Flows that the NIC may own, of 1024.
    pub nic_share: u16,
    /// Under [`Sides::Dealt`]: buckets that the NIC gets, of 256.
    pub nic_buckets: u16,
    /// Under [`Sides::Dealt`]: the flow table that deals the buckets; otherwise
    /// [`FlowTableFacts::NONE`].
    pub flow_table: FlowTableFacts,
    /// Packets of a flow that the host handles before it offers the flow to the NIC. With 1, the
    /// host offers every flow after its first packet. A larger number avoids moving short flows in
    /// vain.
    pub offer_after: u32,
    /// States that limit the program to one shard of NIC core and host worker, each with the
    /// reason: packets steered to different shards access the same part of the state. When empty,
    /// any number of shards gives the result of one.
    pub one_shard: &'static [(&'static str, &'static str)],
}

/// What the plan knows of a NIC's flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTableFacts {
    /// Maximum number of rules.
    pub entries: u32,
    /// Insertions and removals of rules per second; 0 for no limit.
    pub operations_per_s: u32,
    /// Time of one operation that waits for no other one, in nanoseconds.
    pub delay_ns: u64,
}

impl FlowTableFacts {
    /// No flow table: it has room for no rule.
    pub const NONE: Self = Self { entries: 0, operations_per_s: 0, delay_ns: 0 };

    /// A flow table without limits, for plans by hand: they know of no NIC.
    pub const WITHOUT_LIMITS: Self = Self { entries: u32::MAX, ..Self::NONE };
}

/// Which side runs packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The host runs all packets; the NIC forwards them to it.
    HostOnly,
    /// The NIC runs all packets.
    NicOnly,
    /// One side at a time owns each flow.
    Split,
    /// Each side receives its own buckets, and runs them.
    Dealt,
}

impl Sides {
    /// Whether the NIC runs each packet that it receives from start to end, so that none needs the
    /// host.
    #[inline(always)]
    #[must_use]
    pub const fn nic_runs_alone(self) -> bool {
        matches!(self, Self::NicOnly | Self::Dealt)
    }

    /// Shards of a run with `number` NIC cores and as many host workers. A NIC core and a host
    /// worker make one shard, unless each receives packets of its own.
    #[must_use]
    pub const fn shards(self, number: u16) -> u16 {
        match self {
            Self::Dealt => number.saturating_mul(2),
            Self::HostOnly | Self::NicOnly | Self::Split => number,
        }
    }
}

impl PlanFacts {
    /// A plan by hand, with nothing that the sides don't need.
    #[must_use]
    pub const fn by_hand(sides: Sides) -> Self {
        const NONE: FlowTableFacts = FlowTableFacts::NONE;
        let (name, nic_share, nic_buckets, flow_table) = match sides {
            Sides::HostOnly => ("host-only", 0, 0, NONE),
            Sides::NicOnly => ("nic-only", 0, 0, NONE),
            Sides::Split => ("split", 1024, 0, NONE),
            Sides::Dealt => ("dealt", 0, 128, FlowTableFacts::WITHOUT_LIMITS),
        };
        Self {
            name,
            hash: 1,
            sides,
            host_ordered: false,
            stateless_flows: false,
            nic_share,
            nic_buckets,
            flow_table,
            offer_after: 1,
            one_shard: &[],
        }
    }
}
