//! The regions of a host half, one after the other.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

use cora_core::app::App;
use cora_runtime::link::region::{Region, RegionLayout};

use crate::RunError;
use crate::node::half::layout_of_run;
use crate::node::host_page::HostPage;
use crate::options::RunOptions;

/// Access to the regions of a host.
pub(super) struct Regions<A> {
    words: &'static [AtomicU64],
    pub(super) page: HostPage,
    layout: RegionLayout,
    program: PhantomData<A>,
}

impl<A: App> Regions<A> {
    pub(super) fn of(words: &'static [AtomicU64], page: HostPage, options: &RunOptions) -> Self {
        Self { words, page, layout: layout_of_run::<A>(options), program: PhantomData }
    }

    /// The region of this generation. Its location does not depend on its contents, which the NIC
    /// can write.
    pub(super) fn region(&self, generation: u64) -> Result<Region, RunError> {
        let region = self.page.region(self.words, &self.layout, A::PLAN.hash, generation);
        region.map_err(RunError::Region)
    }
}
