//! Searches for names in unparsed tokens: bodies of macros and functions.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use crate::syntax::Mark;

/// Places of `#[state…]`, `#[message…]`, `#[flow_handler…]`, `#[on_expire…]` and `#[every…]`
/// anywhere within the tokens.
pub(super) fn annotations(tokens: &TokenStream) -> Vec<(Span, &'static str)> {
    let mut found = Vec::new();
    search(tokens.clone(), &mut found);
    found
}

fn search(tokens: TokenStream, found: &mut Vec<(Span, &'static str)>) {
    let mut after_hash = false;
    for token in tokens {
        match token {
            TokenTree::Punct(ref punct) if punct.as_char() == '#' => {
                after_hash = true;
                continue;
            }
            TokenTree::Group(ref group) => {
                if after_hash && group.delimiter() == Delimiter::Bracket {
                    found.extend(annotation(group.stream()));
                }
                search(group.stream(), found);
            }
            _ => {}
        }
        after_hash = false;
    }
}

/// Whether the contents of `#[…]` name one of Cora's attributes: the last word before its
/// arguments.
fn annotation(tokens: TokenStream) -> Option<(Span, &'static str)> {
    let mut last = None;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => last = Some(ident),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => break,
        }
    }
    let last = last?;
    let mut names = Mark::ALL.map(Mark::attribute).into_iter().chain(["state", "message"]);
    names.find(|name| last == name).map(|name| (last.span(), name))
}

/// Every word of the tokens, with the place of its first occurrence.
pub fn mentions(tokens: &TokenStream) -> Vec<(String, Span)> {
    fn words(tokens: TokenStream, seen: &mut BTreeSet<String>, found: &mut Vec<(String, Span)>) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if seen.insert(ident.to_string()) {
                        found.push((ident.to_string(), ident.span()));
                    }
                }
                TokenTree::Group(group) => words(group.stream(), seen, found),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    let mut found = Vec::new();
    words(tokens.clone(), &mut BTreeSet::new(), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<&'static str> {
        annotations(&source.parse().unwrap()).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn annotations_are_found_at_any_depth() {
        assert_eq!(names("{ ( #[flow_handler] fn f() {} ) }"), ["flow_handler"]);
        assert_eq!(names("#[cora::state(singleton)] struct S;"), ["state"]);
        assert_eq!(names("# [ cora :: flow_handler ] fn f() {}"), ["flow_handler"]);
    }

    #[test]
    fn other_attributes_and_words_are_none() {
        assert!(
            names("#[derive(state)] #[other::state::thing] fn state() { state[state] }").is_empty()
        );
        assert!(names("\"#[flow_handler]\"").is_empty());
    }
}
