//! Calls from one node to another one in the same process. Entries go as a stream: a batch does
//! not wait for the answer to the one before.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use futures_util::{Stream, StreamExt as _};
use openraft::alias::{SnapshotOf, VoteOf};
use openraft::base::{BoxFuture, BoxStream};
use openraft::error::{NetworkError, RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetworkFactory, RaftNetworkV2};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult, VoteRequest,
    VoteResponse,
};
use openraft::{AnyError, EmptyNode, OptionalSend};

use super::machine::Content;
use super::{Node, Types};

/// The nodes by number, once all are there.
#[derive(Clone, Default)]
pub(super) struct Network(Arc<OnceLock<Vec<Node>>>);

impl Network {
    /// These are all.
    pub(super) fn joins(&self, nodes: &[Node]) {
        let _only_once = self.0.set(nodes.to_vec());
    }
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Link;

    async fn new_client(&mut self, target: u64, _: &EmptyNode) -> Link {
        Link { nodes: self.clone(), target: target as usize }
    }
}

/// The way to a node.
pub(super) struct Link {
    nodes: Network,
    target: usize,
}

impl Link {
    fn node(&self) -> Result<&Node, Unreachable<Types>> {
        let node = self.nodes.0.get().and_then(|nodes| nodes.get(self.target));
        node.ok_or_else(|| Unreachable::new(&AnyError::error("it is not there yet")))
    }
}

/// Answers to a stream of entries.
type Answers<'a> = BoxStream<'a, Result<StreamAppendResult<Types>, RPCError<Types>>>;

fn failed(error: &(impl std::error::Error + 'static)) -> RPCError<Types> {
    NetworkError::new(error).into()
}

impl RaftNetworkV2<Types> for Link {
    type SnapshotData = Content;

    async fn append_entries(
        &mut self,
        entries: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        self.node()?.append_entries(entries).await.map_err(|error| failed(&error))
    }

    fn stream_append<'s, S>(
        &'s mut self,
        input: S,
        _: RPCOption,
    ) -> BoxFuture<'s, Result<Answers<'s>, RPCError<Types>>>
    where
        S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + Unpin + 'static,
    {
        Box::pin(async move {
            let answers = self.node()?.stream_append(input);
            let answers = answers.map(|answer| answer.map_err(|error| failed(&error)));
            Ok(Box::pin(answers) as Answers<'s>)
        })
    }

    async fn vote(
        &mut self,
        vote: VoteRequest<Types>,
        _: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        self.node()?.vote(vote).await.map_err(|error| failed(&error))
    }

    async fn full_snapshot(
        &mut self,
        vote: VoteOf<Types>,
        snapshot: SnapshotOf<Types, Content>,
        _: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        let installed = self.node()?.install_full_snapshot(vote, snapshot).await;
        installed.map_err(|error| NetworkError::new(&error).into())
    }
}
