//! A region of a test.

use cora_core::state::{Home as _, Region, RegionState};
use cora_host::parts::GivenBack;

/// A region of a test. It goes where a handler asks for `&mut Region<S>`, and its memory ends with
/// it.
pub type TestRegion<S> = GivenBack<Region<S>>;

/// A region of which no item was written.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(region, length = 1 << 20)]
/// struct Slot {
///     value: u64,
/// }
///
/// let mut slots = cora::testing::region::<Slot>();
/// slots.write(7, Slot { value: 1 }).unwrap();
/// cora::testing::run_ended(&mut slots, true);
/// slots.write(7, Slot { value: 2 }).unwrap();
/// cora::testing::run_ended(&mut slots, false);
/// assert_eq!(slots.read(7).unwrap().value, 1);
/// ```
///
/// # Panics
/// When the machine has no memory.
#[must_use]
pub fn region<S: RegionState>() -> TestRegion<S> {
    GivenBack::region().expect("memory for a region")
}

/// The handler's run is over, and another one begins. `stays` says whether it ended well: only then
/// is there what it wrote.
pub fn run_ended<S: RegionState>(region: &mut Region<S>, stays: bool) {
    if stays {
        region.commit(false);
    } else {
        region.rollback();
    }
}
