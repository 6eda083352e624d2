//! The encoding of a flow's group key in messages and replicas.

use cora_core::key::Key;

/// Bytes of room for any key.
const ROOM: usize = 64;

/// Room for any key.
#[inline]
pub(crate) const fn room() -> [u8; ROOM] {
    [0; ROOM]
}

/// Encodes the key into `room`.
#[inline]
pub(crate) fn encoded<'a, K: Key>(key: &K, room: &'a mut [u8; ROOM]) -> &'a [u8] {
    const { assert!(K::SIZE <= ROOM, "a key is longer than the room for it") };
    key.put(room);
    room.get(..K::SIZE).unwrap_or_default()
}
