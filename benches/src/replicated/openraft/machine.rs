//! A node's state machine: a map in memory. A snapshot is a copy of it.

use std::collections::BTreeMap;
use std::io::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, StreamExt as _};
use openraft::alias::{LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf};
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, StoredMembership};

use super::Types;

/// Names and values.
pub(super) type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A state machine, which its snapshots are made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine(Arc<Mutex<Kept>>);

#[derive(Clone, Debug, Default)]
struct Kept {
    content: Content,
    applied: Option<LogIdOf<Types>>,
    membership: StoredMembershipOf<Types>,
    snapshot: Option<SnapshotOf<Types, Content>>,
}

impl Machine {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of what it has.
    #[cfg(test)]
    pub(super) fn content(&self) -> Content {
        self.kept().content.clone()
    }
}

impl RaftSnapshotBuilder<Types> for Machine {
    type SnapshotData = Content;

    async fn build_snapshot(&mut self) -> Result<SnapshotOf<Types, Content>> {
        let mut kept = self.kept();
        let last_membership = kept.membership.clone();
        let meta = SnapshotMetaOf::<Types> { last_log_id: kept.applied, last_membership };
        let snapshot = SnapshotOf::<Types, Content> { meta, snapshot: kept.content.clone() };
        kept.snapshot = Some(snapshot.clone());
        Ok(snapshot)
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotData = Content;
    type SnapshotBuilder = Self;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogIdOf<Types>>, StoredMembershipOf<Types>)> {
        let kept = self.kept();
        Ok((kept.applied, kept.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> Result<()>
    where
        S: Stream<Item = Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        while let Some(entry) = entries.next().await {
            let (entry, responder) = entry?;
            let mut kept = self.kept();
            kept.applied = Some(entry.log_id);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(put) => drop(kept.content.insert(put.name, put.value)),
                EntryPayload::Membership(members) => {
                    kept.membership = StoredMembership::new(Some(entry.log_id), members);
                }
            }
            drop(kept);
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMetaOf<Types>,
        snapshot: Content,
    ) -> Result<()> {
        let mut kept = self.kept();
        kept.content.clone_from(&snapshot);
        kept.applied = meta.last_log_id;
        kept.membership = meta.last_membership.clone();
        kept.snapshot = Some(SnapshotOf::<Types, Content> { meta: meta.clone(), snapshot });
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<SnapshotOf<Types, Content>>> {
        Ok(self.kept().snapshot.clone())
    }
}
