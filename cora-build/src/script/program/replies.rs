//! Reply keys that handlers choose.
//!
//! The analysis follows names instead of types, as that of [`reach`](super::reach) does.

use cora_plan::vocabulary::Replies;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;

use super::{ChosenReplies, Parts};
use crate::script::source::{Source, mentions};

/// The methods with a reply key of the handler's choice, and the keys that they take.
const CHOOSING: [(&str, Replies); 3] = [
    ("insert_answered_by", Replies::SamePorts),
    ("insert_answered", Replies::BucketPort),
    ("insert_with_reply", Replies::Any),
];

/// The reply keys that handlers and helpers choose.
pub(super) fn run(source: &Source, parts: &Parts) -> ChosenReplies {
    let handlers = parts.handlers.iter().map(|handler| {
        let chosen = most(&handler.decl.item.block.to_token_stream());
        (handler.decl.name.clone(), chosen)
    });
    let helpers = source.functions.iter().map(|function| most(&function.body)).max();
    ChosenReplies {
        handlers: handlers.filter(|(_, chosen)| *chosen != Replies::Reversed).collect(),
        helpers: helpers.unwrap_or_default(),
    }
}

fn most(body: &TokenStream) -> Replies {
    chosen(body).map(|(_, replies)| replies).max().unwrap_or_default()
}

/// The places in a body where a reply key is chosen.
pub(super) fn chosen(body: &TokenStream) -> impl Iterator<Item = (Span, Replies)> {
    mentions(body).into_iter().filter_map(|(word, at)| {
        let (_, replies) = CHOOSING.into_iter().find(|(method, _)| *method == word)?;
        Some((at, replies))
    })
}
