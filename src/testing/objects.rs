//! Objects of a test.

use cora_core::key::Key;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::{Home as _, NO_FLOW, ObjectState, Objects, Visit};
use cora_host::parts::GivenBack;

/// Objects of a test. They go where a handler asks for `&mut Objects<S>`, and their memory ends
/// with them.
pub type TestObjects<S> = GivenBack<Objects<S>>;

/// A state without objects, at time 0, in a run of the flow with this key.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(objects, bytes = "1 MiB", capacity = 100, idle = "1m")]
/// struct Line {
///     older: Id<Line>,
/// }
///
/// let mut lines = cora::testing::objects::<Line>(&7_u32);
/// let first = lines.insert_with(Line { older: Id::NONE }, b"hello").unwrap();
/// cora::testing::of_flow(&mut lines, &8_u32, 10);
/// assert!(lines.get(first).is_none());
/// cora::testing::of_flow(&mut lines, &7_u32, 20);
/// assert_eq!(&lines.get(first).unwrap().bytes, b"hello");
/// ```
///
/// # Panics
/// When the machine has no memory.
#[must_use]
pub fn objects<S: ObjectState>(key: &impl Key) -> TestObjects<S> {
    let mut objects = GivenBack::objects().expect("memory for objects");
    of_flow(&mut objects, key, 0);
    objects
}

/// From now on it is a run at `now` (ns), of the flow with this key.
pub fn of_flow<S: ObjectState>(objects: &mut Objects<S>, key: &impl Key, now: u64) {
    objects.commit(false);
    objects.begin(Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE });
    objects.enter_named(Some(key.words()));
}
