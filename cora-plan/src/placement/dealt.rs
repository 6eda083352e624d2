//! The plan `dealt`: buckets that hardware gives to one side each, which runs them wholly.
//!
//! No packet crosses, so no state can be at one side for both. What restricts a program to one
//! shard makes the plan impossible.

use super::{Group, PlanError, one_shard};
use crate::graph::Graph;
use crate::statement::Statement;
use crate::vocabulary::{BUCKETS, Sides};

/// Buckets that the NIC gets if the statement says nothing.
const HALF: u16 = BUCKETS / 2;

/// Records every state that can't be dealt.
pub(super) fn check(graph: &Graph, group: &Group, errors: &mut Vec<PlanError>) {
    let apart = one_shard::run(graph, group, Sides::Dealt).into_iter();
    errors.extend(apart.map(|(name, because)| PlanError::NotByBucket { name, because }));
}

/// Buckets that the NIC gets; 0 under another plan.
pub(super) fn buckets(statement: &Statement) -> u16 {
    match (statement.sides, statement.nic_buckets) {
        (Sides::Dealt, Some(stated)) => stated.what.min(BUCKETS),
        (Sides::Dealt, None) => HALF,
        _ => 0,
    }
}
