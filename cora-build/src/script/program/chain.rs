//! The handlers and their order: the program's single `app!`.

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::Path;

use super::{Handler, Parts, path};
use crate::analyse::{library, library_of};
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::script::cargo::Unfound;
use crate::script::source::{Call, Source, libraries};
use crate::syntax::arguments::nearest;

/// Indices of the chain's handlers, in order.
pub(super) fn run(source: &Source, parts: &Parts, findings: &mut Findings) -> Vec<usize> {
    let Some((call, others)) = source.calls.split_first() else {
        let at = parts.handlers.first().map_or(0, |handler| handler.file);
        let place = parts.handlers.first().map_or_else(Span::call_site, |h| h.decl.ident.span());
        findings.at(at).error(codes::APP_MISSING, place, "the program has no `cora::app!`").help(
            match parts.handlers.first() {
                Some(handler) => format!(
                    "write `cora::app!({});` in the root of the crate",
                    path(&handler.module, &handler.decl.name).replace("crate::", "")
                ),
                None => "declare a `#[flow_handler]` and write `cora::app!(its_name);`".to_owned(),
            },
        );
        return Vec::new();
    };
    for other in others {
        findings
            .at(other.file)
            .error(codes::APP_TWICE, other.place, "a second `app!`: a program has one chain")
            .help("name all handlers in one: `cora::app!(first, second);`");
    }
    if call.in_module {
        findings
            .at(call.file)
            .error(codes::APP_IN_MODULE, call.place, "`app!` stands in a module")
            .help("move it to the root of the crate: it makes the program's `main`");
    }
    let Some(paths) = paths(call, findings) else { return Vec::new() };
    let mut chain = Vec::new();
    for path in &paths {
        match find(path, source, parts) {
            Some(at) if chain.contains(&at) => twice(call, path, findings),
            Some(at) => {
                visible(call, path, &parts.handlers[at], findings);
                chain.push(at);
            }
            None => unknown(call, path, source, parts, findings),
        }
    }
    chain
}

fn paths(call: &Call, findings: &mut Findings) -> Option<Vec<Path>> {
    let (place, found) = match call.paths() {
        Ok(paths) if !paths.is_empty() => return Some(paths),
        Ok(_) => (call.place, "nothing".to_owned()),
        Err(error) => (error.span().into(), format!("something else ({error})")),
    };
    findings
        .at(call.file)
        .error(
            codes::APP_ARGUMENTS,
            place,
            format!("`app!` takes the paths of handlers, and finds {found}"),
        )
        .help("write `cora::app!(first, second);`");
    None
}

/// The handler of a path: by the whole path from the root, or by its name alone, because a `use`
/// may have imported it. Another crate's is found as rustc does.
fn find(written: &Path, source: &Source, parts: &Parts) -> Option<usize> {
    let words: Vec<String> = words(written);
    let whole = |words: &[String]| {
        let is_it = |handler: &Handler| handler.module.iter().chain([&handler.decl.name]).eq(words);
        parts.handlers.iter().position(is_it)
    };
    if written.leading_colon.is_none() {
        let by_path = whole(&words);
        let by_name = || match words.as_slice() {
            [name] => parts.handlers.iter().position(|handler| {
                handler.decl.name == *name && library_of(&handler.module).is_none()
            }),
            _ => None,
        };
        if let Some(found) = by_path.or_else(by_name) {
            return Some(found);
        }
        return whole(&source.surroundings.canonical(&words, &[])?);
    }
    let (first, rest) = words.split_first()?;
    let words = [&[library(first)], rest].concat();
    whole(&source.surroundings.canonical(&words, &[])?)
}

/// The words of a path from the root.
fn words(path: &Path) -> Vec<String> {
    path.segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .skip_while(|word| word == "crate" || word == "self")
        .map(|word| word.strip_prefix("r#").unwrap_or(&word).to_owned())
        .collect()
}

fn twice(call: &Call, path: &Path, findings: &mut Findings) {
    findings
        .at(call.file)
        .error(
            codes::APP_HANDLER_TWICE,
            Place::of(path),
            format!("`{}` stands twice in the chain", written(path)),
        )
        .help("take one away");
}

fn unknown(call: &Call, path: &Path, source: &Source, parts: &Parts, findings: &mut Findings) {
    let named = libraries::of_path(path, &source.surroundings).into_iter().next();
    let known = named.as_ref().and_then(|name| Some((name, source.libraries.get(name)?)));
    let within = match known {
        Some((name, Err(unfound))) => return no_library(call, path, name, unfound, findings),
        Some((name, Ok(_))) => Some(name.as_str()),
        None => None,
    };
    let name = words(path).pop().unwrap_or_default();
    // After the name of a crate, only its own handlers can be meant.
    let meant = |handler: &&Handler| within.is_none() || library_of(&handler.module) == within;
    let handlers = || parts.handlers.iter().filter(meant);
    let near = nearest(&name, handlers().map(|handler| handler.decl.name.as_str()))
        .and_then(|near| handlers().find(|handler| handler.decl.name == near));
    let help = match near {
        Some(near) => {
            let near = super::path(&near.module, &near.decl.name).replace("crate::", "");
            format!("did you mean `{near}`?")
        }
        None if parts.timed.iter().any(|timed| timed.decl.name == name) => {
            format!("`{name}` runs at its time, without being named here: take it away")
        }
        None if source.removed.contains(&name) => {
            format!("`{name}` is left out by its `#[cfg]`: put the same one on `cora::app!`")
        }
        None => match within {
            Some(library) => {
                format!("put `#[flow_handler]` on the function `{name}` of the crate `{library}`")
            }
            None => format!("put `#[flow_handler]` on the function `{name}`"),
        },
    };
    findings
        .at(call.file)
        .error(
            codes::APP_HANDLER_UNKNOWN,
            Place::of(path),
            format!("there is no handler `{}`", written(path)),
        )
        .help(help);
}

/// A path into a crate that can't be read.
fn no_library(call: &Call, path: &Path, name: &str, unfound: &Unfound, findings: &mut Findings) {
    let (code, message, help) = match unfound {
        Unfound::NotADependency { kind: Some(kind), .. } => (
            codes::CRATE_UNKNOWN,
            format!("`{name}` is a {kind}-dependency alone"),
            "write it under `[dependencies]`".to_owned(),
        ),
        Unfound::NotADependency { kind: None, names } => (
            codes::CRATE_UNKNOWN,
            format!("`{name}` is neither a module of the program nor a dependency"),
            match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write `{name} = …` under `[dependencies]` in Cargo.toml"),
            },
        ),
        Unfound::NoLibrary { package } => (
            codes::CRATE_WITHOUT_LIBRARY,
            format!("the package `{package}` has no library"),
            "move its handlers and states from `src/main.rs` to a `src/lib.rs`".to_owned(),
        ),
        Unfound::Unknown { why } => (
            codes::CRATE_NOT_FOUND,
            format!("Cargo does not say where the source of `{name}` is: {why}"),
            "run `cargo fetch`, then build again".to_owned(),
        ),
    };
    findings.at(call.file).error(code, Place::of(path), message).help(help);
}

fn visible(call: &Call, path: &Path, handler: &Handler, findings: &mut Findings) {
    let Some(hidden) = &handler.hidden else { return };
    findings
        .at(call.file)
        .error(
            codes::HANDLER_HIDDEN,
            Place::of(path),
            match library_of(&handler.module) {
                Some(_) => format!("another crate can't name `{}`", written(path)),
                None => format!("the root of the crate can't name `{}`", written(path)),
            },
        )
        .help(format!("write `pub {hidden}` where it is declared"));
}

fn written(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
