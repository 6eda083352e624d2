//! The items that handlers reach besides their parameters.
//!
//! The analysis follows names instead of types: a handler reaches the names in its body, and the
//! names that the functions among them reach. It does not follow methods.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use quote::ToTokens as _;

use super::{Handler, Parts};
use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::script::source::{Source, Static, mentions};

pub(super) fn run(source: &Source, parts: &Parts, findings: &mut Findings) {
    let statics: BTreeMap<&str, &Static> =
        source.statics.iter().map(|item| (item.name.as_str(), item)).collect();
    if statics.is_empty() {
        return;
    }
    let functions = functions(source);
    // One that stays at the host may have a file or a connection there.
    for handler in parts.functions().filter(|handler| !handler.decl.at_host) {
        for (word, at) in mentions(&handler.decl.item.block.to_token_stream()) {
            if let Some(found) = statics.get(word.as_str()) {
                refuse(handler, at, found, None, findings);
            } else if let Some(found) = through(&word, &functions, &statics) {
                refuse(handler, at, found, Some(&word), findings);
            }
        }
    }
}

/// Words in each function. Functions with the same name count as one.
fn functions(source: &Source) -> BTreeMap<&str, BTreeSet<String>> {
    let mut functions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for function in &source.functions {
        let words = mentions(&function.body).into_iter().map(|(word, _)| word);
        functions.entry(&function.name).or_default().extend(words);
    }
    functions
}

/// A static that a function reaches, directly or through others.
fn through<'a>(
    function: &str,
    functions: &BTreeMap<&str, BTreeSet<String>>,
    statics: &BTreeMap<&str, &'a Static>,
) -> Option<&'a Static> {
    let mut seen = BTreeSet::new();
    let mut next = vec![function.to_owned()];
    while let Some(name) = next.pop() {
        let Some(words) = functions.get(name.as_str()) else { continue };
        if let Some(found) = words.iter().find_map(|word| statics.get(word.as_str())) {
            return Some(found);
        }
        if seen.insert(name) {
            next.extend(words.iter().cloned());
        }
    }
    None
}

fn refuse(
    handler: &Handler,
    at: Span,
    found: &Static,
    through: Option<&str>,
    findings: &mut Findings,
) {
    let way = through.map(|function| format!(" through `{function}`")).unwrap_or_default();
    findings
        .at(handler.file)
        .error(
            codes::STATIC_REACHED,
            at,
            format!("`{}` reaches the static `{}`{way}", handler.decl.name, found.name),
        )
        .label(found.how)
        .help("make it a state: `#[state(singleton)]`, or `#[state(commutative)]` for counters");
}
