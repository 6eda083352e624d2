//! Replicas at the host: of the NIC's entries, and of its own entries and singletons.

use cora_core::app::App;
use cora_core::state::table::Change;
use cora_core::state::{Kept, MAX_PIECE};

use super::catch_up::LeftBehind;
use super::store::{Holder, Reclaimed, Replica, ReplicaStore};
use super::{track, waiting};
use crate::channel::ProtocolError;
use crate::dealing::Dealing;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Durability, Kind};
use crate::ownership::host::{HostOwnership, HostSide};

/// What the host counts of its replicas, and restores from them.
#[derive(Debug)]
pub(crate) struct Replication<A: App> {
    /// State kept here after another process ended.
    pub(super) reclaimed: Reclaimed,
    /// Changes of durable entries that were not replicated: no room, or the host owns the entry.
    pub(super) uncopied: u64,
    /// The flow among the messages that a dead host left.
    pub(super) left_behind: Option<LeftBehind<A::Group>>,
}

impl<A: App> Replication<A> {
    pub(crate) const fn new() -> Self {
        Self {
            reclaimed: Reclaimed {
                flows: 0,
                entries: 0,
                refused: 0,
                cancelled: 0,
                half_received: 0,
                missing: 0,
                dropped: 0,
            },
            uncopied: 0,
            left_behind: None,
        }
    }

    /// State kept here after another process ended.
    pub(crate) const fn reclaimed(&self) -> Reclaimed {
        self.reclaimed
    }

    /// Changes of durable entries that were not replicated.
    pub(crate) const fn uncopied(&self) -> u64 {
        self.uncopied
    }

    /// Handles the NIC's messages about replicas. An entry that comes back
    /// [unchanged](Durability::Same) is installed from its replica.
    pub(crate) fn message(
        &mut self,
        message: Durability<'_>,
        ownership: &mut HostOwnership<A>,
        side: &mut HostSide<'_, A>,
        store: Option<&mut dyn ReplicaStore>,
    ) -> Result<(), ProtocolError> {
        match message {
            Durability::Copy { state, group, piece } => {
                let replica = replica_for_nic(side.app, state, group.0, piece)?;
                match store {
                    Some(store) if is_hosts_own(store, &replica) => self.uncopied += 1,
                    Some(store) => self.keep(&replica, store),
                    None => {}
                }
                Ok(())
            }
            Durability::Erase { state, key } => {
                if let Some(store) = store {
                    store.forget(Holder::Nic, state, key);
                }
                Ok(())
            }
            Durability::Same { state, used, key } => {
                let flow = ownership.incoming_flow(Kind::Same)?;
                let mut bytes = [0; MAX_PIECE];
                let store = store.ok_or(ProtocolError::NoCopy(state))?;
                let piece = piece_of(store, state, key, &mut bytes);
                let piece = piece.ok_or(ProtocolError::NoCopy(state))?;
                let restored = track::restore(side.app, state, piece, flow, used)?;
                if restored {
                    ownership.restored(side.app, flow, used);
                }
                ownership.came(Kind::Same, restored.then_some(used), side)?;
                if const { !A::HOOKED.is_empty() } {
                    self.replicate(ownership, side.app, store);
                    Self::came_late(side.app, state, piece, store);
                }
                Ok(())
            }
        }
    }

    /// Handles the NIC's message that an entry ended: its hook is to run here.
    pub(crate) fn ended(
        &mut self,
        state: u16,
        piece: &[u8],
        app: &mut A,
        store: Option<&mut dyn ReplicaStore>,
    ) -> Result<(), ProtocolError> {
        waiting::take(app, state, piece, 0)?;
        if const { A::DURABLE }
            && let Some(store) = store
            && track::sizes(app, state).is_some()
        {
            self.uncopied += u64::from(!waiting::ended_at_nic(app, state, piece, store)?);
        }
        Ok(())
    }

    /// Keeps a replica. One that there is no room for is counted.
    pub(super) fn keep(&mut self, replica: &Replica<'_>, store: &mut dyn ReplicaStore) {
        self.uncopied += u64::from(!store.keep(replica));
    }

    /// Assigns the replicas of the flow's durable entries to the NIC, before the entries go there.
    /// All changes are replicated.
    pub(crate) fn assign_to_nic(
        group: &A::Group,
        flow: u32,
        app: &mut A,
        now: u64,
        store: Option<&mut dyn ReplicaStore>,
    ) {
        if let Some(store) = store {
            store.assign(Holder::Host, Holder::Nic, Some(encoded(group, &mut room())));
        }
        track::disown(app, flow, now);
    }

    /// Replicas of the flow that the NIC still holds are stale: the flow came back without those
    /// entries, which had expired.
    pub(crate) fn came_back(group: &A::Group, store: &mut dyn ReplicaStore) {
        store.forget_all(Holder::Nic, Some(encoded(group, &mut room())));
    }

    /// An entry came back, and what became of it is replicated. If it had ended, it waits for its
    /// hook: restored from the replica that the NIC held, should that die before the rest of the
    /// flow is here, it would end once more.
    pub(crate) fn came_late(app: &mut A, state: u16, piece: &[u8], store: &mut dyn ReplicaStore) {
        let key = track::sizes(app, state).and_then(|(key, _)| piece.get(..key));
        if let Some(key) = key {
            store.forget(Holder::Nic, state, key);
        }
    }

    /// Replicates the changes made here.
    pub(crate) fn replicate(
        &mut self,
        ownership: &HostOwnership<A>,
        app: &mut A,
        store: &mut dyn ReplicaStore,
    ) {
        let hooks = const { !A::HOOKED.is_empty() } && waiting::has_news(app);
        let together = hooks || const { !A::KEPT.is_empty() } && singletons_are_touched(app);
        if together {
            store.begin();
            replicate_singletons(app, store);
        }
        if hooks {
            waiting::replicate(app, store, &mut self.uncopied);
        }
        self.replicate_entries(ownership, app, store);
        if together {
            store.commit();
        }
    }

    fn replicate_entries(
        &mut self,
        ownership: &HostOwnership<A>,
        app: &mut A,
        store: &mut dyn ReplicaStore,
    ) {
        track::tell(app, ownership.flows(), &mut |state, group, change| match change {
            Change::Gone(key) => store.forget(Holder::Host, state, key),
            Change::Is { flow, key, piece } => {
                let (mut bytes, name) = (room(), Dealing::name::<A>(flow));
                let group = match (&group, &name) {
                    (Some(group), _) => encoded(group, &mut bytes),
                    (None, Some(name)) => &name[..],
                    (None, None) => &[],
                };
                self.keep(&Replica { state, holder: Holder::Host, group, key, piece }, store);
            }
        });
    }
}

/// The replica of an entry that the NIC owns, if the bytes are one.
pub(super) fn replica_for_nic<'a, A: App>(
    app: &mut A,
    state: u16,
    group: &'a [u8],
    piece: &'a [u8],
) -> Result<Replica<'a>, ProtocolError> {
    let bad = ProtocolError::BadPiece(state);
    let (key, _) =
        track::sizes(app, state).filter(|(_, bytes)| *bytes == piece.len()).ok_or(bad)?;
    let key = piece.get(..key).ok_or(bad)?;
    Ok(Replica { state, holder: Holder::Nic, group, key, piece })
}

/// Whether the entry's replica is the host's own. The NIC may not replace it: that could undo
/// changes behind packets that the host has sent. Only a half that lies makes two owners of one
/// entry.
fn is_hosts_own(store: &dyn ReplicaStore, replica: &Replica<'_>) -> bool {
    let mut is_own = false;
    store.find(replica.state, replica.key, &mut |kept| is_own = kept.holder == Holder::Host);
    is_own
}

/// The entry's encoding in its replica, if there is one.
fn piece_of<'b>(
    store: &dyn ReplicaStore,
    state: u16,
    key: &[u8],
    bytes: &'b mut [u8; MAX_PIECE],
) -> Option<&'b [u8]> {
    let mut length = None;
    store.find(state, key, &mut |replica| {
        if let Some(place) = bytes.get_mut(..replica.piece.len()) {
            place.copy_from_slice(replica.piece);
            length = Some(replica.piece.len());
        }
    });
    length.and_then(|length| bytes.get(..length))
}

fn singletons_are_touched<A: App>(app: &mut A) -> bool {
    A::KEPT.iter().any(|state| kept(app, *state).is_some_and(|it| it.is_touched()))
}

#[inline(never)]
fn replicate_singletons<A: App>(app: &mut A, store: &mut dyn ReplicaStore) {
    for state in A::KEPT {
        if let Some(kept) = kept(app, *state) {
            kept.tell(&mut |at, part| store.keep_part(*state as u16, at, part));
        }
    }
}

/// The durable singleton with this number. Only the host keeps replicas, so the NIC half is built
/// without.
#[cfg(not(target_os = "none"))]
pub(super) fn kept<A: App>(app: &mut A, state: usize) -> Option<&mut dyn Kept> {
    app.described(state).kept()
}

#[cfg(target_os = "none")]
pub(super) fn kept<A: App>(_: &mut A, _: usize) -> Option<&mut dyn Kept> {
    None
}
