//! A state whose memory ends with it: for tests, which make thousands of them. The states of a run
//! live as long as the process.
#![expect(unsafe_code, reason = "unmaps memory")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use cora_core::state::commutative::{Merged, ReadMerged};
use cora_core::state::configured::Configured;
use cora_core::state::{
    Keyed, Memory, ObjectState, Objects, OutOfMemory, Region, RegionState, Row, Stored as _, Table,
};

use crate::RunError;
use crate::memory::map::state_memory;
use crate::memory::pages::Pages;

/// A table, in memory that is given back with it.
pub struct GivenBack<T> {
    // Invariant: nobody else has a reference into the mapping.
    value: ManuallyDrop<T>,
    address: *mut core::ffi::c_void,
    bytes: usize,
}

impl<S: Keyed> GivenBack<Table<S>> {
    /// An empty table.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn table() -> Result<Self, RunError> {
        // A table gives out references only for as long as it is borrowed.
        Self::make(Table::<S>::BYTES, Table::create)
    }
}

impl<S: ObjectState> GivenBack<Objects<S>> {
    /// A state without objects.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn objects() -> Result<Self, RunError> {
        // So do objects.
        Self::make(Objects::<S>::BYTES, Objects::create)
    }
}

impl<S: RegionState> GivenBack<Region<S>> {
    /// A region of which no item was written.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn region() -> Result<Self, RunError> {
        // So does a region.
        Self::make(Region::<S>::BYTES, Region::create)
    }
}

impl<S: Row> GivenBack<Configured<S>> {
    /// A configured table without rows.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn configured() -> Result<Self, RunError> {
        // So does a configured table.
        Self::make(Configured::<S>::BYTES, Configured::create)
    }
}

impl<S: ReadMerged> GivenBack<Merged<S>> {
    /// A state that is read as of a merge, without updates.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn merged() -> Result<Self, RunError> {
        // So does such a state.
        Self::make(Merged::<S>::BYTES, Merged::create)
    }
}

impl<T> GivenBack<T> {
    /// Makes a value that keeps all references into its memory to itself.
    fn make(
        bytes: usize,
        make: fn(&mut Memory) -> Result<T, OutOfMemory>,
    ) -> Result<Self, RunError> {
        // Each state may waste up to a line.
        let lines = state_memory(bytes + 128, Pages::Small, false);
        let lines = lines.map_err(|error| RunError::System {
            what: "memory for a state",
            cause: std::io::Error::other(format!("{error:?}")),
        })?;
        let (address, bytes) = (lines.as_mut_ptr().cast(), size_of_val(lines));
        let value = make(&mut Memory::new(lines)).map_err(RunError::Memory)?;
        Ok(Self { value: ManuallyDrop::new(value), address, bytes })
    }
}

impl<T> Deref for GivenBack<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for GivenBack<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for GivenBack<T> {
    fn drop(&mut self) {
        // The value itself owns nothing but references into the mapping, so it is not dropped.
        // SAFETY: the mapping is whole pages of ours (small ones, so nothing was skipped at its
        // beginning), and no reference into it is left: the value is gone.
        let _unmapped = unsafe { rustix::mm::munmap(self.address, self.bytes) };
    }
}

impl<T: fmt::Debug> fmt::Debug for GivenBack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use cora_core::plain::{Describe, Plain};
    use cora_core::state::table::scope::Everywhere;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Seen(u64);

    impl Plain for Seen {
        const SIZE: usize = 8;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            u64::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
    }

    impl Keyed for Seen {
        type Key = u64;
        type Scope = Everywhere;
        type Held = Self;
        const NAME: &'static str = "Seen";
        const CAPACITY: u32 = 1024;
        const IDLE: u64 = 1_000_000_000;
        const REPLY: bool = false;
    }

    #[test]
    fn memory_is_given_back() {
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/statm").expect("Linux");
            maps.split_whitespace().next().and_then(|pages| pages.parse::<u64>().ok())
        };
        let before = mapped().expect("a number");
        for _ in 0..10_000 {
            let mut table = GivenBack::<Table<Seen>>::table().expect("memory");
            table.insert(7, Seen(1)).expect("room");
            assert_eq!(table.get(&7), Some(&Seen(1)));
        }
        // Ten thousand tables are more than 500 MB.
        let after = mapped().expect("a number");
        assert!(after < before + 25_000, "{before} pages before, {after} after");
    }
}
