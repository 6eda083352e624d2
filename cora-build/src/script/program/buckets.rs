//! Checks of values per bucket, and of reply keys against buckets.

use quote::ToTokens as _;

use super::{Handler, Parts, State, replies};
use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::script::source::Source;
use crate::syntax::{BucketEnd, StateKind};

pub(super) fn run(source: &Source, parts: &Parts, findings: &mut Findings) {
    one_end(parts, findings);
    let by_bucket = parts.states.iter().find(|state| is_divided(state) || end_of(state).is_some());
    if let Some(state) = by_bucket {
        leaving(state, source, parts, findings);
    }
    for timed in &parts.timed {
        without_bucket(timed, parts, findings);
    }
}

const fn is_divided(state: &State) -> bool {
    matches!(state.decl.kind, StateKind::PerBucket { .. })
}

/// The end whose port decides the buckets of the state's packets, if it says so.
fn end_of(state: &State) -> Option<BucketEnd> {
    match &state.decl.kind {
        StateKind::Keyed(args) => args.bucket.as_ref().map(|(end, _)| *end),
        _ => None,
    }
}

/// A packet is of one bucket, so all states name the same end.
fn one_end(parts: &Parts, findings: &mut Findings) {
    let mut first: Option<(&State, BucketEnd)> = None;
    for state in &parts.states {
        let StateKind::Keyed(args) = &state.decl.kind else { continue };
        let Some((end, place)) = &args.bucket else { continue };
        match first {
            Some((other, other_end)) if other_end != *end => {
                findings
                    .at(state.file)
                    .error(
                        codes::BUCKET_TWO_ENDS,
                        place.span(),
                        format!(
                            "packets of `{}` go by `{}`, and those of `{}` by `{}`: a packet is of one bucket",
                            state.decl.name,
                            end.word(),
                            other.decl.name,
                            other_end.word()
                        ),
                    )
                    .help(format!(
                        "write `bucket = {}`, or put the two into programs of their own",
                        other_end.word()
                    ));
            }
            Some(_) => {}
            None => first = Some((state, *end)),
        }
    }
}

/// Refuses reply keys of which nobody knows the bucket.
fn leaving(state: &State, source: &Source, parts: &Parts, findings: &mut Findings) {
    let bodies = parts.handlers.iter().map(|it| (it.file, it.decl.item.block.to_token_stream()));
    let helpers = source.functions.iter().map(|it| (it.file, it.body.clone()));
    let name = &state.decl.name;
    let because = if is_divided(state) {
        format!("`{name}` has a value for each bucket")
    } else {
        format!("`{name}` says which port decides the bucket")
    };
    for (file, body) in bodies.chain(helpers) {
        let leaving =
            replies::chosen(&body).filter(|(_, it)| *it == cora_plan::vocabulary::Replies::Any);
        for (at, _) in leaving {
            findings
                .at(file)
                .error(
                    codes::REPLY_LEAVES_BUCKET,
                    at,
                    format!("packets with this reply key may be of another bucket, and {because}"),
                )
                .label("steering would send the replies where their entry is not")
                .help(
                    "a NAT writes `insert_answered(flow, flow.answered_to(address, port), …)`, with a port of \
                     `bucket.port(…)`; who keeps both ports writes `insert_answered_by(flow, address, …)`",
                );
        }
    }
}

/// Refuses values per bucket where nothing says of which bucket. A timer runs for each.
fn without_bucket(timed: &Handler, parts: &Parts, findings: &mut Findings) {
    let Some(ended) = timed.decl.expires().map(|expires| &expires.state) else { return };
    let entries = parts.states.iter().find(|it| it.decl.name == *ended);
    if entries.and_then(end_of).is_some() {
        return;
    }
    for parameter in &timed.decl.parameters {
        let state = parts.states.iter().find(|state| state.decl.name == parameter.state);
        if !state.is_some_and(is_divided) {
            continue;
        }
        findings
            .at(timed.file)
            .error(
                codes::NO_BUCKET,
                parameter.ident.span(),
                format!(
                    "`{}` has a value for each bucket, and nothing says of which bucket an entry of `{ended}` was",
                    parameter.state
                ),
            )
            .help(format!(
                "add `bucket = InsidePort` or `bucket = OutsidePort` to the `#[state(…)]` of `{ended}`"
            ));
    }
}
