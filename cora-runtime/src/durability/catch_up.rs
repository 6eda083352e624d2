//! Messages that the NIC sent to the previous host, and that host did not release from the ring.
//!
//! Durable entries in transit are kept as replicas of the NIC's; packets are lost. The previous
//! host published nothing that depends on these messages, so older replicas may be valid again.

use cora_core::app::App;
use cora_core::plain::Plain;

use super::replicate::{Replication, replica_for_nic};
use super::store::{Holder, ReplicaStore};
use super::{track, waiting};
use crate::link::message::group::{encoded, room};
use crate::link::message::{Durability, Hooks, Message, Ownership};

/// A released flow with entries still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftBehind<K> {
    group: K,
    left: u32,
}

impl<A: App> Replication<A> {
    /// Handles the next of these messages.
    #[cold]
    pub(crate) fn catch_up(
        &mut self,
        message: &Message<'_>,
        app: &mut A,
        store: &mut dyn ReplicaStore,
    ) {
        match *message {
            Message::Ownership(Ownership::Release { entries, group, .. }) => {
                let group = A::Group::get(group).filter(|_| entries > 0);
                self.left_behind = group.map(|group| LeftBehind { group, left: entries });
            }
            Message::Ownership(Ownership::Entry { state, piece }) => match self.came_behind() {
                Some(group) => {
                    self.keep_if_whole(state, encoded(&group, &mut room()), piece, app, store);
                }
                // The previous host consumed the release; an older replica of the entry tells its
                // flow.
                None => self.keep_again(state, piece, app, store),
            },
            Message::Ownership(Ownership::Vanished {})
            | Message::Durability(Durability::Same { .. }) => drop(self.came_behind()),
            Message::Durability(Durability::Copy { state, group, piece }) => {
                self.keep_if_whole(state, group.0, piece, app, store);
            }
            Message::Durability(Durability::Erase { state, key }) => {
                store.forget(Holder::Nic, state, key);
            }
            Message::Hooks(Hooks::Over { state, piece }) if track::sizes(app, state).is_some() => {
                let kept = waiting::ended_at_nic(app, state, piece, store).unwrap_or(true);
                self.uncopied += u64::from(!kept);
            }
            _ => {}
        }
    }

    /// Counts an entry of the released flow, and returns the flow's group key.
    fn came_behind(&mut self) -> Option<A::Group> {
        let LeftBehind { group, left } = self.left_behind?;
        let left = left - 1;
        self.left_behind = (left > 0).then_some(LeftBehind { group, left });
        Some(group)
    }

    /// Keeps an entry in place of its replica, with the same flow.
    fn keep_again(&mut self, state: u16, piece: &[u8], app: &mut A, store: &mut dyn ReplicaStore) {
        let Some((key, _)) = track::sizes(app, state) else { return };
        let mut bytes = [0; 64];
        let mut length = 0;
        store.find(state, piece.get(..key).unwrap_or_default(), &mut |replica| {
            if let Some(place) = bytes.get_mut(..replica.group.len()) {
                place.copy_from_slice(replica.group);
                length = replica.group.len();
            }
        });
        let group = bytes.get(..length).unwrap_or_default();
        self.keep_if_whole(state, group, piece, app, store);
    }

    /// Keeps a replica, unless the dead host left bytes that don't decode: nothing depends on
    /// those.
    fn keep_if_whole(
        &mut self,
        state: u16,
        group: &[u8],
        piece: &[u8],
        app: &mut A,
        store: &mut dyn ReplicaStore,
    ) {
        if let Ok(replica) = replica_for_nic(app, state, group, piece) {
            self.keep(&replica, store);
        }
    }
}
