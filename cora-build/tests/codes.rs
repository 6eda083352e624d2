//! Checks the catalogue: every entry's example has its fault, and macros and build scripts give a
//! fault the same code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cora_build::diag::{Code, Diagnostics, entries};
use cora_build::expand;
use cora_build::item::{parse_function, parse_message, parse_state};
use cora_build::syntax::{Mark, Reader, is_attribute};
use proc_macro2::TokenStream;
use quote::quote;

/// Codes from here on are for whole programs.
const PROGRAM: Code = Code(100);

/// An item with one of Cora's attributes.
struct Annotated {
    attribute: syn::Attribute,
    /// For a build script.
    whole: TokenStream,
    /// For the attribute's macro.
    rest: TokenStream,
}

impl Annotated {
    fn new(item: &(impl syn::parse::Parse + quote::ToTokens)) -> Option<Self> {
        let whole = item.to_token_stream();
        let split = |input: syn::parse::ParseStream<'_>| {
            let attributes = input.call(syn::Attribute::parse_outer)?;
            Ok((attributes, input.parse::<TokenStream>()?))
        };
        let (mut attributes, rest) = syn::parse::Parser::parse2(split, whole.clone()).ok()?;
        let at = attributes.iter().position(|attribute| {
            let marks = Mark::ALL.map(Mark::attribute);
            let names = ["state", "message", "derive"].into_iter().chain(marks);
            names.into_iter().any(|name| is_attribute(attribute, name))
        })?;
        let attribute = attributes.remove(at);
        Some(Self { attribute, whole, rest: quote!(#(#attributes)* #rest) })
    }

    fn is(&self, name: &str) -> bool {
        is_attribute(&self.attribute, name)
    }

    fn mark(&self) -> Option<Mark> {
        Mark::ALL.into_iter().find(|mark| self.is(mark.attribute()))
    }

    fn args(&self) -> TokenStream {
        match &self.attribute.meta {
            syn::Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        }
    }
}

/// The annotated items of a file, and of its `impl` blocks.
fn annotated(file: &syn::File) -> Vec<Annotated> {
    let mut found = Vec::new();
    for item in &file.items {
        if let syn::Item::Impl(block) = item {
            found.extend(block.items.iter().filter_map(Annotated::new));
        } else {
            found.extend(Annotated::new(item));
        }
    }
    found
}

/// A build script's codes for a file's items.
fn codes_of_script(file: &syn::File) -> Vec<Code> {
    let mut diagnostics = Diagnostics::new();
    for item in annotated(file) {
        if item.is("state") {
            parse_state(item.args(), item.whole, Reader::BuildScript, &mut diagnostics);
        } else if item.is("message") {
            parse_message(item.args(), item.whole, Reader::BuildScript, &mut diagnostics);
        } else if let Some(mark) = item.mark() {
            let (args, whole) = (item.args(), item.whole);
            parse_function(mark, args, whole, Reader::BuildScript, &mut diagnostics);
        }
    }
    sorted(diagnostics.iter().map(|found| found.code))
}

/// The macros' codes for a file's items, from the expansions.
fn codes_of_macros(file: &syn::File) -> Vec<Code> {
    let expand = |item: Annotated| {
        if item.is("state") {
            expand::state(item.args(), item.rest)
        } else if item.is("message") {
            expand::message(item.args(), item.rest)
        } else if let Some(mark) = item.mark() {
            expand::function(mark, item.args(), item.rest)
        } else if item.args().to_string().contains("Key") {
            expand::derive_key(item.whole)
        } else {
            expand::derive_plain(item.whole)
        }
    };
    let text: String = annotated(file).into_iter().map(|item| expand(item).to_string()).collect();
    sorted(codes_in(&text))
}

fn codes_in(text: &str) -> Vec<Code> {
    let digits = text.split("CORA").skip(1).filter_map(|rest| rest.get(..4));
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

fn sorted(codes: impl IntoIterator<Item = Code>) -> Vec<Code> {
    let mut codes: Vec<Code> = codes.into_iter().collect();
    codes.sort_unstable();
    codes
}

/// The compile-fail cases, each with the code in its name.
fn cases() -> BTreeMap<PathBuf, Code> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/fail");
    let files = std::fs::read_dir(directory).expect("the cases are there");
    files
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?;
            let code = name.split('_').next()?.parse().ok()?;
            Some((path, code))
        })
        .collect()
}

fn is_plain(code: Code) -> bool {
    (80..86).contains(&code.0)
}

#[test]
fn every_example_has_the_fault_it_stands_for() {
    let mut wrong = Vec::new();
    for entry in entries().filter(|entry| entry.code < PROGRAM) {
        let file = syn::parse_file(entry.example);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", entry.code));
        let (macros, script) = (codes_of_macros(&file), codes_of_script(&file));
        if macros != [entry.code] || (script != macros && !is_plain(entry.code)) {
            wrong.push(format!("{}: macros {macros:?}, script {script:?}", entry.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn macros_and_build_scripts_give_a_fault_the_same_code() {
    let mut wrong = Vec::new();
    for (path, code) in cases() {
        let source = std::fs::read_to_string(&path).expect("a case");
        let file = syn::parse_file(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let (macros, script) = (codes_of_macros(&file), codes_of_script(&file));
        if !macros.contains(&code) || (script != macros && !is_plain(code)) {
            wrong.push(format!("{}: macros {macros:?}, script {script:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_code_of_an_item_has_a_compile_fail_case_and_its_message() {
    let covered: BTreeSet<Code> = cases().into_values().collect();
    let missing: Vec<String> = entries()
        .filter(|entry| entry.code < PROGRAM && !covered.contains(&entry.code))
        .map(|entry| entry.code.to_string())
        .collect();
    assert!(missing.is_empty(), "no case in tests/ui/fail for {missing:?}");
    for (path, code) in cases() {
        let message = std::fs::read_to_string(path.with_extension("stderr")).unwrap_or_default();
        assert!(message.contains(&code.to_string()), "{} doesn't show {code}", path.display());
    }
}
