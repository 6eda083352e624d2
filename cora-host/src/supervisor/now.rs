//! The counts of the shards so far, while they run.

use std::collections::BTreeMap;

use cora_runtime::link::region::RING_NAMES;

use crate::ingress::capture::Cable;
use crate::observe::account::{add, add_words};
use crate::observe::counted::Counted;
use crate::observe::live::HalvesRead;
use crate::supervisor::{Shard, Supervisor};

impl<C: Cable> Supervisor<'_, C> {
    /// The counts of all shards.
    pub(crate) fn counted(&mut self) -> Counted {
        let mut all = Counted::default();
        for shard in &mut self.shards {
            let Counted { outcomes, took } = shard.counted();
            add(&mut all.outcomes, outcomes);
            add_words(&mut all.took, &took);
        }
        all
    }
}

impl Shard<'_> {
    /// The counts of its halves, those that died included.
    fn counted(&mut self) -> Counted {
        let HalvesRead { nic, host } = self.read();
        self.outcomes.nic_told(Counted::of(&nic));
        self.outcomes.so_far(Counted::of(&host))
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
