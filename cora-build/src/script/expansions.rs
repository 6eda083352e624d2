//! What macros and build script make of a program, as text for people.

use std::path::Path;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::Item;

use super::source::cfg::Cfg;
use super::source::{Shared, Source, attributes, package};
use super::{deep, emit, read};
use crate::check::fields::{derives, ends};
use crate::expand;
use crate::syntax::{Mark, is_attribute};

/// The expansion of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Name of the item.
    pub name: String,
    /// Its file, and its line there.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The Rust source.
    pub text: String,
}

/// The expansions of the package in `directory`, and the program that its build script writes. The
/// error is ready to show.
pub fn of(directory: &Path, plan: Option<&str>) -> Result<(Vec<Expansion>, String), String> {
    deep(|| {
        let (name, cfg) = package::read(directory)?;
        read_all(directory, &name, &cfg, plan)
    })
}

fn read_all(
    directory: &Path,
    name: &str,
    cfg: &Cfg,
    plan: Option<&str>,
) -> Result<(Vec<Expansion>, String), String> {
    let reading = read(directory, name, cfg, plan);
    if let Some(why) = reading.source.unreadable {
        return Err(format!("the program can't be read: {why}\n"));
    }
    let (graph, plan) = reading.result.map_err(|faults| faults.to_string())?;
    let source = &reading.source;
    let items = source.shared.iter().filter_map(|shared| expansion(source, shared));
    Ok((items.collect(), emit::run(&graph, &plan, false)))
}

/// The expansion of an item, if it has an attribute of Cora.
fn expansion(source: &Source, Shared { file, item, .. }: &Shared) -> Option<Expansion> {
    let (name, tokens) = expanded(item)?;
    let parsed: syn::File = syn::parse2(tokens).ok()?;
    let line = name.span().start().line;
    let file = source.files.get(*file).map(|file| file.name.clone()).unwrap_or_default();
    Some(Expansion { name: name.to_string(), file, line, text: prettyplease::unparse(&parsed) })
}

/// The item's name and its expansion.
fn expanded(item: &Item) -> Option<(proc_macro2::Ident, TokenStream)> {
    let name = match item {
        Item::Fn(item) => item.sig.ident.clone(),
        Item::Struct(item) => item.ident.clone(),
        Item::Enum(item) => item.ident.clone(),
        _ => return None,
    };
    if let Some((arguments, rest)) = without(item, "state") {
        return Some((name, expand::state(arguments, rest)));
    }
    if let Some((arguments, rest)) = without(item, "message") {
        return Some((name, expand::message(arguments, rest)));
    }
    for mark in Mark::ALL {
        if let Some((arguments, rest)) = without(item, mark.attribute()) {
            return Some((name, expand::function(mark, arguments, rest)));
        }
    }
    let derived: Vec<syn::Path> = attributes(item).iter().flat_map(derives).collect();
    let mut tokens = TokenStream::new();
    for (wanted, derive) in
        [("Plain", expand::derive_plain as fn(_) -> TokenStream), ("Key", expand::derive_key)]
    {
        if derived.iter().any(|path| ends(path, wanted)) {
            tokens.extend(derive(item.to_token_stream()));
        }
    }
    (!tokens.is_empty()).then_some((name, tokens))
}

/// The arguments of this attribute of Cora, and the item without it, as a macro gets them.
fn without(item: &Item, attribute: &str) -> Option<(TokenStream, TokenStream)> {
    let mut item = item.clone();
    let all = match &mut item {
        Item::Fn(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        _ => return None,
    };
    let at = all.iter().position(|it| is_attribute(it, attribute))?;
    let arguments = match all.remove(at).meta {
        syn::Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    Some((arguments, item.into_token_stream()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_of_cora_is_expanded_and_no_other() {
        let source = "#[derive(Clone, Copy, Plain, Key)] struct Tenant { number: u32 }
            #[state(key = Tenant, capacity = 1, idle = \"1s\")] struct Quota { bytes: u64 }
            #[derive(Debug)] struct Other;
            #[flow_handler] fn f(packet: &mut Packet) -> Verdict { Transmit }
            fn g() {}";
        let file = syn::parse_file(source).unwrap();
        let found: Vec<(String, String)> = file
            .items
            .iter()
            .filter_map(expanded)
            .map(|(name, tokens)| (name.to_string(), tokens.to_string()))
            .collect();
        let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["Tenant", "Quota", "f"]);
        for (at, word) in [(0, "fn unpack"), (0, "fn put"), (1, "Keyed for Quota"), (2, "__cora_f")]
        {
            assert!(found[at].1.contains(word), "{word}: {}", found[at].1);
        }
        assert!(!found[1].1.contains("# [state"), "the attribute is gone: {}", found[1].1);
    }
}
