//! Memory for a program's states: on the pages that were asked for, and hashed with one seed.

use cora_core::app::App;
use cora_core::state::{Line, Memory};

use crate::RunError;
use crate::map::{MapError, state_memory};
use crate::pages::{HugePages, Pages};

/// Where memory for states comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supply {
    /// Of the tables' hashes.
    pub(crate) seed: u64,
    pub(crate) pages: Pages,
}

/// Bytes that a half takes beside its program's states.
pub(crate) type Beside<A> = fn(&mut A) -> usize;

impl Supply {
    /// The program's states, empty, and memory for what a half takes beside them.
    pub(crate) fn app<A: App>(self, beside: Beside<A>) -> Result<(A, Memory), RunError> {
        let (mut app, bytes) = self.made::<A>(beside).map_err(|error| match error {
            RunError::NoHugePages { .. } => self.all_that_lacks(beside),
            other => other,
        })?;
        let memory = self.memory(bytes)?;
        let _ = &mut app;
        Ok((app, memory))
    }
}
