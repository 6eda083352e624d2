//! Memory for a program's states: on the requested pages, with one hash seed.

use cora_core::app::App;
use cora_core::state::{Line, Memory, RegionMemory};

use crate::RunError;
use crate::memory::map::{MapError, state_memory};
use crate::memory::pages::{HugePages, Pages};

/// The parameters of memory for states.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// Seed of the tables' hashes.
    pub seed: u64,
    /// The kind of its pages.
    pub pages: Pages,
    /// Whether all pages are allocated before the first packet comes; otherwise each is allocated
    /// at first touch. Useful where packets come in real time: the allocation takes some 50 ms per
    /// 100 MB.
    pub resident: bool,
}

/// Memory like that of a run's states, on the same kind of pages, for measurements.
///
/// # Errors
/// If the kernel has none.
pub fn memory_for_states(bytes: usize) -> Result<Memory, RunError> {
    Supply { seed: 1, pages: Pages::default(), resident: true }.memory(bytes)
}

impl Supply {
    /// The program's states, empty. `beside` returns the bytes that a half takes in addition: an
    /// error about huge pages then gives the demand of the whole run at once.
    pub fn app<A: App>(self, beside: fn(&mut A) -> usize) -> Result<A, RunError> {
        self.app_with(None, beside)
    }

    /// The same, with the items of regions in this memory if there is any.
    pub fn app_with<A: App>(
        self,
        regions: Option<RegionMemory>,
        beside: fn(&mut A) -> usize,
    ) -> Result<A, RunError> {
        let items = if regions.is_some() { A::ITEMS } else { 0 };
        let memory = self.memory(A::MEMORY - items).map_err(|error| match error {
            RunError::NoHugePages { .. } => self.lacking(beside).unwrap_or(error),
            other => other,
        })?;
        let mut memory = match regions {
            Some(regions) => memory.with_regions(regions),
            None => memory,
        };
        A::new(&mut memory).map_err(RunError::Memory)
    }

    /// Memory for this many bytes.
    pub fn memory(self, bytes: usize) -> Result<Memory, RunError> {
        let system = |errno: rustix::io::Errno| RunError::System {
            what: "memory for the states",
            cause: errno.into(),
        };
        let lines = state_memory(with_waste(bytes), self.pages, self.resident).map_err(
            |error| match error {
                MapError::Kernel(errno) => system(errno),
                MapError::NoHugePages => no_huge_pages(&[bytes]),
            },
        )?;
        Ok(Memory::new(lines).with_seed(self.seed))
    }

    /// The combined shortage for the states and the half. The states can always be made on
    /// untouched small pages, to compute it.
    fn lacking<A: App>(self, beside: fn(&mut A) -> usize) -> Option<RunError> {
        let mut app =
            Self { pages: Pages::Small, resident: false, ..self }.app::<A>(beside).ok()?;
        Some(no_huge_pages(&[A::MEMORY, beside(&mut app)]))
    }
}

/// Each piece may waste up to a cache line.
const fn with_waste(bytes: usize) -> usize {
    bytes + 16 * Line::BYTES
}

/// The error if there are too few pages for mappings of these sizes.
fn no_huge_pages(mappings: &[usize]) -> RunError {
    let Some(pages) = HugePages::now() else { return RunError::NoHugePagesAtAll };
    let needed = mappings.iter().map(|bytes| pages.of(with_waste(*bytes))).sum();
    RunError::NoHugePages {
        needed,
        page_kib: pages.page / 1024,
        available: pages.available(),
        setting: pages.setting(needed),
    }
}
