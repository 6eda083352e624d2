//! Memory for a program's states: on the pages that were asked for, hashed with one seed.

use cora_core::app::App;
use cora_core::state::{Line, Memory};

use crate::RunError;
use crate::map::{MapError, state_memory};
use crate::pages::{HugePages, Pages};

/// Where memory for states comes from.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// Of the tables' hashes.
    pub seed: u64,
    /// Which pages it is on.
    pub pages: Pages,
    /// Whether all pages are made before the first packet comes; otherwise each when it is first
    /// touched. Worth its while where packets have to do with time: making them takes some 50 ms
    /// per 100 MB.
    pub resident: bool,
}

/// Memory like that of a run's states, on its pages: for those who measure what a run would find
/// there.
///
/// # Errors
/// When the kernel has none.
pub fn memory_for_states(bytes: usize) -> Result<Memory, RunError> {
    Supply { seed: 1, pages: Pages::default(), resident: true }.memory(bytes)
}

impl Supply {
    /// The program's states, empty. `beside` says how many bytes a half will take beside them:
    /// somebody whom huge pages lack is told at once how many the whole run needs.
    pub fn app<A: App>(self, beside: fn(&mut A) -> usize) -> Result<A, RunError> {
        let mut memory = self.memory(A::MEMORY).map_err(|error| match error {
            RunError::NoHugePages { .. } => self.lacking(beside).unwrap_or(error),
            other => other,
        })?;
        A::new(&mut memory).map_err(RunError::Memory)
    }

    /// Memory for so many bytes.
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

    /// What the states and the half beside them lack together. On small pages that nobody touches,
    /// the states can always be made, to be asked.
    fn lacking<A: App>(self, beside: fn(&mut A) -> usize) -> Option<RunError> {
        let mut app =
            Self { pages: Pages::Small, resident: false, ..self }.app::<A>(beside).ok()?;
        Some(no_huge_pages(&[A::MEMORY, beside(&mut app)]))
    }
}

/// Each piece may waste up to a line.
const fn with_waste(bytes: usize) -> usize {
    bytes + 16 * Line::BYTES
}

/// There are not enough for mappings of so many bytes each.
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
