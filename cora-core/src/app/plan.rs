//! Facts of the plan that the runtimes need.

/// Facts of the plan for the runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanFacts {
    /// `host-only`, `nic-only` or `split`.
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
    /// Under `dealt`: buckets that the NIC gets, of 256.
    pub nic_buckets: u16,
    /// Packets of a flow that the host handles before it offers the flow to the NIC. With 1, the
    /// host offers every flow after its first packet. A larger number avoids moving short flows in
    /// vain.
    pub offer_after: u32,
    /// States that limit the program to one shard of NIC core and host worker, each with the
    /// reason: packets steered to different shards access the same part of the state. When empty,
    /// any number of shards gives the result of one.
    pub one_shard: &'static [(&'static str, &'static str)],
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
}

impl PlanFacts {
    /// A plan by hand, with nothing that the sides don't need.
    #[must_use]
    pub const fn by_hand(sides: Sides) -> Self {
        let (name, nic_share) = match sides {
            Sides::HostOnly => ("host-only", 0),
            Sides::NicOnly => ("nic-only", 0),
            Sides::Split => ("split", 1024),
        };
        Self {
            name,
            hash: 1,
            sides,
            host_ordered: false,
            stateless_flows: false,
            nic_share,
            nic_buckets: 0,
            offer_after: 1,
            one_shard: &[],
        }
    }
}
