//! Ended entries whose hooks have not run: they have replicas, too, under a number of their own.
//!
//! A hook gives back what its entry held, so it must run once, whatever dies. The host keeps a
//! replica of each ended entry until the hook has run. What the hook changed and the end of that
//! replica take effect together. The entry's own replica ends with the beginning of the other one.

use cora_core::app::App;
use cora_core::state::table::{Hooked, Waiting};

use super::store::{Holder, Replica, ReplicaStore};
use super::track;
use crate::channel::ProtocolError;
use crate::dealing::Dealing;
use crate::hooks::each_hooked;

/// The bit that marks a state's number: a replica of an ended entry. It is kept under all that
/// identifies it, since another entry may have its key by now.
pub const ENDED: u16 = 1 << 15;

/// Whether ended entries have replicas that changed.
pub(super) fn has_news<A: App>(app: &mut A) -> bool {
    let mut any = false;
    each_hooked(app, &mut |_, table| any |= table.has_news());
    any
}

/// Replicates what changed among the ended entries here.
pub(super) fn replicate<A: App>(app: &mut A, store: &mut dyn ReplicaStore, uncopied: &mut u64) {
    each_hooked(app, &mut |state, table| {
        table.tell_waiting(&mut |news| match news {
            Waiting::Is(key, piece, bucket) => {
                let name = Dealing::name::<A>(bucket.into());
                let group = name.as_ref().map_or(&[][..], |name| &name[..]);
                *uncopied += u64::from(!store.keep(&replica(state, group, key, piece)));
            }
            Waiting::Ran(key) => store.forget(Holder::Host, state | ENDED, key),
        });
    });
}

const fn replica<'a>(state: u16, group: &'a [u8], key: &'a [u8], piece: &'a [u8]) -> Replica<'a> {
    Replica { state: state | ENDED, holder: Holder::Host, group, key, piece }
}

/// An entry ended at the NIC: replaces its replica by one of an ended entry. Returns whether that
/// was kept.
///
/// # Errors
/// If the bytes are no entry of that state.
pub(super) fn ended_at_nic<A: App>(
    app: &mut A,
    state: u16,
    piece: &[u8],
    store: &mut dyn ReplicaStore,
) -> Result<bool, ProtocolError> {
    let bad = ProtocolError::BadPiece(state);
    let (name, whole) = track::sizes(app, state).ok_or(bad)?;
    let ended = piece.get(..identification(app, state).ok_or(bad)?);
    let (Some(key), Some(name)) = (ended.filter(|_| whole == piece.len()), piece.get(..name))
    else {
        return Err(bad);
    };
    store.begin();
    let kept = store.keep(&replica(state, &[], key, piece));
    store.forget(Holder::Nic, state, name);
    store.commit();
    Ok(kept)
}

/// Takes an ended entry from the NIC, or from its replica; its bucket, if flows are buckets.
///
/// # Errors
/// If the bytes are no entry of that state, or more than its table can hold ended.
pub(crate) fn take<A: App>(
    app: &mut A,
    state: u16,
    piece: &[u8],
    bucket: u8,
) -> Result<(), ProtocolError> {
    let mut taken = Err(ProtocolError::BadPiece(state));
    each_hooked(app, &mut |of, table| {
        if of == state {
            taken = table.take_expired(piece, bucket).map_err(|_| ProtocolError::BadPiece(state));
        }
    });
    taken
}

fn identification<A: App>(app: &mut A, state: u16) -> Option<usize> {
    let mut bytes = None;
    each_hooked(app, &mut |of, table: &mut dyn Hooked| {
        if of == state {
            bytes = Some(table.ended_key_bytes());
        }
    });
    bytes
}
