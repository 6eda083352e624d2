//! A node's log in memory.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Result;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openraft::alias::{EntryOf, LogIdOf, VoteOf};
use openraft::entry::RaftEntry as _;
use openraft::storage::{IOFlushed, LogState, RaftLogReader, RaftLogStorage};
use openraft::{OptionalSend, RaftTypeConfig};

use super::Types;

/// A log, which its readers share.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    vote: Option<VoteOf<Types>>,
    entries: BTreeMap<u64, EntryOf<Types>>,
    purged: Option<LogIdOf<Types>>,
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<EntryOf<Types>>> {
        Ok(self.kept().entries.range(range).map(|(_, entry)| entry.clone()).collect())
    }

    async fn read_vote(&mut self) -> Result<Option<VoteOf<Types>>> {
        Ok(self.kept().vote)
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>> {
        let kept = self.kept();
        let last = kept.entries.last_key_value().map(|(_, entry)| entry.log_id());
        Ok(LogState { last_purged_log_id: kept.purged, last_log_id: last.or(kept.purged) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &VoteOf<Types>) -> Result<()> {
        self.kept().vote = Some(*vote);
        Ok(())
    }

    async fn append<I>(&mut self, entries: I, done: IOFlushed<Types>) -> Result<()>
    where
        I: IntoIterator<Item = <Types as RaftTypeConfig>::Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.kept().entries.extend(entries.into_iter().map(|entry| (entry.index(), entry)));
        done.io_completed(Ok(()));
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<Types>>) -> Result<()> {
        let first = last.map_or(0, |last| last.index() + 1);
        drop(self.kept().entries.split_off(&first));
        Ok(())
    }

    async fn purge(&mut self, upto: LogIdOf<Types>) -> Result<()> {
        let mut kept = self.kept();
        kept.entries = kept.entries.split_off(&(upto.index() + 1));
        kept.purged = Some(upto);
        Ok(())
    }
}
