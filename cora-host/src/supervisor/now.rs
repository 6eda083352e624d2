//! The counts of the shards so far, while they run.

use std::collections::BTreeMap;

use cora_runtime::link::region::RING_NAMES;

use crate::observe::counted::Counted;
use crate::observe::live::HalvesRead;
use crate::supervisor::Shard;

impl Shard<'_> {
    /// The counts of its halves, of which these are read now, and of those that died.
    pub(crate) fn counted(&mut self, HalvesRead { nic, host }: &HalvesRead) -> Counted {
        self.outcomes.nic_told(Counted::of(nic));
        self.outcomes.so_far(Counted::of(host))
    }

    /// The counters of its halves.
    pub(crate) fn read(&self) -> HalvesRead {
        HalvesRead { nic: self.region.nic_counters().read(), host: self.page.counters().read() }
    }

    /// Bytes that wait on each of its rings. The halves write where they are, so anything may stand
    /// there: no more than a ring has.
    pub(crate) fn waits(&self) -> BTreeMap<&'static str, u64> {
        let rings = self.region.rings();
        let rings = [rings.wire_in, rings.wire_out, rings.punt, rings.back];
        RING_NAMES.into_iter().zip(rings.map(|ring| ring.waiting())).collect()
    }
}
