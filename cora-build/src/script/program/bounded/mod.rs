//! A program that shares a process with others: what it does to a packet ends, and it touches no
//! memory but its own.
//!
//! Its manifest says that it does: `share-process = true` in `[package.metadata.cora]`. Then its
//! code of both halves is checked here, and that of the libraries that its chain takes handlers
//! from. Other dependencies are believed.
//!
//! 1. No `unsafe`, also in macros.
//! 2. Each loop has an end (`loops`): `for` over something finite.
//! 3. No function calls itself, directly or through others (`calls`).
//!
//! A loop that ends may still be long. The agent finds that when it happens.

mod calls;
mod loops;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::script::source::Source;

/// Where a program says that it shares a process.
const SAYS: &str = "`share-process = true` in its manifest";

/// Checks the program, if it shares a process.
pub(super) fn run(source: &Source, findings: &mut Findings) {
    if !source.shares_process {
        return;
    }
    for shared in &source.shared {
        let sink = findings.at(shared.file);
        let tokens = shared.item.to_token_stream();
        for at in words(tokens.clone(), "unsafe") {
            sink.error(
                codes::SHARED_UNSAFE,
                at,
                format!("`unsafe` in a program that shares a process ({SAYS})"),
            )
            .help("write it without, or give the program a process of its own");
        }
        for (at, found) in loops::run(&shared.item, &tokens) {
            sink.error(codes::SHARED_LOOP, at, found.to_string()).help(found.cure());
        }
    }
    for cycle in calls::run(source) {
        findings
            .at(cycle.file)
            .error(codes::SHARED_RECURSION, cycle.at, cycle.sentence())
            .help(cycle.cure());
    }
}

/// Where a word stands, in all groups.
fn words(tokens: TokenStream, word: &str) -> Vec<Span> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == word => found.push(ident.span()),
            TokenTree::Group(group) => found.extend(words(group.stream(), word)),
            _ => {}
        }
    }
    found
}
