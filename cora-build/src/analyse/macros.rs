//! Macros, and other unparsed syntax: only their words are visible.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;

use super::expression::valued;
use super::reader::Reader;
use super::value::Value;
use super::way::Ways;
use super::written;

/// Macros that never return.
const DIVERGE: [&str; 4] = ["panic", "unreachable", "todo", "unimplemented"];

/// Macros that continue after their call, if nothing in their arguments leaves.
const RETURN: [&str; 28] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "matches",
    "vec",
    "format",
    "format_args",
    "print",
    "println",
    "eprint",
    "eprintln",
    "write",
    "writeln",
    "dbg",
    "concat",
    "stringify",
    "line",
    "column",
    "file",
    "module_path",
    "env",
    "option_env",
    "include_str",
    "include_bytes",
    "cfg",
];

impl<'a> Reader<'a> {
    /// A call of a macro.
    pub(super) fn macro_call(&mut self, called: &'a syn::Macro, ways: Ways) -> Ways {
        let name = called.path.segments.last().map(|segment| written::name(&segment.ident));
        let name = name.unwrap_or_default();
        let ways = self.hidden(&called.tokens, &format!("`{name}!`"), ways);
        if DIVERGE.contains(&name.as_str()) {
            return Vec::new();
        }
        if !RETURN.contains(&name.as_str()) {
            // Its expansion may contain a `return`.
            self.end(ways.clone());
        }
        ways
    }

    /// Unparsed tokens: their effects on the states and closures that they name are opaque.
    pub(super) fn hidden(&mut self, tokens: &TokenStream, what: &str, ways: Ways) -> Ways {
        let named = spanned_words(tokens);
        let why = format!("the effect of {what} on the state can't be seen from here");
        let ways = self.each(ways, |reader, way| reader.named_in(&named, way, &why));
        let ways = valued(ways, &Value::Unknown);
        let said = |word: &str| named.iter().any(|(said, _)| said == word);
        if said("return") || holds_question(tokens) {
            self.end(ways.clone());
        }
        for (word, breaks) in [("break", true), ("continue", false)] {
            if said(word) {
                self.leave(None, breaks, ways.clone());
            }
        }
        ways
    }

    fn named_in(&mut self, named: &[(String, Span)], mut way: super::Way, why: &str) -> Ways {
        let mut closures = Vec::new();
        for (word, span) in named {
            way.forget(word);
            let value = way.named(word).map(|binding| binding.value.clone());
            if let Some(lent) = value.as_ref().and_then(Value::lent) {
                self.unseen(&mut way, lent, *span, why);
            }
            closures.extend(value.as_ref().and_then(Value::closure).cloned());
        }
        let mut ways = vec![way];
        for closure in closures {
            ways = self.repeat(&closure, ways);
        }
        ways
    }
}

/// Every word of these tokens, also in string literals, because a format string captures names.
pub(super) fn words(tokens: &TokenStream) -> BTreeSet<String> {
    spanned_words(tokens).into_iter().map(|(word, _)| word).collect()
}

/// All words in order, each occurrence with its place.
fn spanned_words(tokens: &TokenStream) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => found.extend(spanned_words(&group.stream())),
            TokenTree::Ident(word) => found.push((word.unraw().to_string(), word.span())),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
                let words = words.filter(|word| !word.is_empty());
                found.extend(words.map(|word| (word.to_owned(), literal.span())));
            }
            TokenTree::Punct(_) => {}
        }
    }
    found
}

fn holds_question(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => holds_question(&group.stream()),
        TokenTree::Punct(punct) => punct.as_char() == '?',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    })
}
