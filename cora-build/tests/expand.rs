//! Compares expansions with files: `expand/<name>.in.rs` is a program, `expand/<name>.out.rs` its
//! expansion. `CORA_BLESS=1 cargo test -p cora-build --test expand` rewrites the latter.

use cora_build::syntax::Mark;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand")
}

/// The compiler's expansion of an item that may begin with one of Cora's attributes.
fn expand(item: &syn::Item) -> TokenStream {
    let mut item = item.clone();
    let attributes = match &mut item {
        syn::Item::Struct(item) => &mut item.attrs,
        syn::Item::Enum(item) => &mut item.attrs,
        syn::Item::Fn(item) => &mut item.attrs,
        _ => return item.to_token_stream(),
    };
    let is_mine = |attribute: &syn::Attribute| {
        let marks = Mark::ALL.map(Mark::attribute);
        ["state", "message"].into_iter().chain(marks).any(|name| attribute.path().is_ident(name))
    };
    if let Some(at) = attributes.iter().position(is_mine) {
        let mine = attributes.remove(at);
        let args = match &mine.meta {
            syn::Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        let mark = Mark::ALL.into_iter().find(|mark| mine.path().is_ident(mark.attribute()));
        let item = item.into_token_stream();
        return match mark {
            Some(mark) => cora_build::expand::function(mark, args, item),
            None if mine.path().is_ident("message") => cora_build::expand::message(args, item),
            None => cora_build::expand::state(args, item),
        };
    }
    let derives = |name: &str| {
        attributes.iter().any(|attribute| {
            attribute.path().is_ident("derive") && quote!(#attribute).to_string().contains(name)
        })
    };
    let (plain, key) = (derives("Plain"), derives("Key"));
    let plain = plain.then(|| cora_build::expand::derive_plain(item.to_token_stream()));
    let key = key.then(|| cora_build::expand::derive_key(item.to_token_stream()));
    quote!(#item #plain #key)
}

fn expand_file(source: &str) -> String {
    let file = syn::parse_file(source).expect("the input parses");
    let expanded: TokenStream = file.items.iter().map(expand).collect();
    let file = syn::parse2(expanded).expect("the expansion parses");
    prettyplease::unparse(&file)
}

/// The different lines with their numbers, from the first difference on.
fn difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let ends = expected.iter().rev().zip(found.iter().rev()).take_while(|(a, b)| a == b).count();
    let ends = ends.min(expected.len().min(found.len()) - same);
    let mut shown = String::new();
    for (sign, lines) in [("-", &expected), ("+", &found)] {
        for (at, line) in lines.iter().enumerate().take(lines.len() - ends).skip(same) {
            let _infallible = writeln!(shown, "{sign}{:4} {line}", at + 1);
        }
    }
    shown
}

#[test]
fn expansions_are_as_the_files_say() {
    let bless = std::env::var_os("CORA_BLESS").is_some();
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(directory())
        .expect("the directory is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".in.rs"))
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 6, "inputs are missing");
    let mut wrong = String::new();
    for input in inputs {
        let output = PathBuf::from(input.to_string_lossy().replace(".in.rs", ".out.rs"));
        let found = expand_file(&std::fs::read_to_string(&input).expect("an input"));
        if bless {
            std::fs::write(&output, &found).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&output).unwrap_or_default();
        if expected != found {
            let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let _infallible = writeln!(wrong, "{name}:\n{}", difference(&expected, &found));
        }
    }
    assert!(wrong.is_empty(), "expansions changed (CORA_BLESS=1 keeps the new ones):\n{wrong}");
}

#[test]
fn a_difference_shows_the_lines_that_differ() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "-   2 b\n+   2 x\n+   3 y\n");
    assert_eq!(difference("", "a\n"), "+   1 a\n");
}

#[test]
fn an_expansion_names_nothing_of_the_program_but_cora() {
    for entry in std::fs::read_dir(directory()).expect("the directory is there") {
        let path = entry.expect("an entry").path();
        if !path.to_string_lossy().ends_with(".out.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("an output");
        for name in ["cora_core", "cora_build", "::std::", "std::"] {
            assert!(!text.contains(name), "{} names `{name}`", path.display());
        }
    }
}
