//! The handlers and their order: the program's single `app!`.

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Path, Token, parse::Parser as _};

use super::{Handler, Parts, path};
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::script::source::{Call, Source};
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
        match find(path, parts) {
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
    let parser = Punctuated::<Path, Token![,]>::parse_terminated;
    let (place, found) = match parser.parse2(call.arguments.clone()) {
        Ok(paths) if !paths.is_empty() => return Some(paths.into_iter().collect()),
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
/// may have imported it.
fn find(written: &Path, parts: &Parts) -> Option<usize> {
    let words: Vec<String> = words(written);
    let whole =
        |handler: &Handler| handler.module.iter().chain([&handler.decl.name]).eq(words.iter());
    let by_path = parts.handlers.iter().position(whole);
    let [name] = words.as_slice() else { return by_path };
    by_path.or_else(|| parts.handlers.iter().position(|handler| handler.decl.name == *name))
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
    let name = words(path).pop().unwrap_or_default();
    let near = nearest(&name, parts.handlers.iter().map(|handler| handler.decl.name.as_str()))
        .and_then(|near| parts.handlers.iter().find(|handler| handler.decl.name == near));
    let help = match near {
        Some(near) => {
            let near = super::path(&near.module, &near.decl.name).replace("crate::", "");
            format!("did you mean `{near}`?")
        }
        None if source.removed.contains(&name) => {
            format!("`{name}` is left out by its `#[cfg]`: put the same one on `cora::app!`")
        }
        None => format!("put `#[flow_handler]` on the function `{name}`"),
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

fn visible(call: &Call, path: &Path, handler: &Handler, findings: &mut Findings) {
    let Some(hidden) = &handler.hidden else { return };
    findings
        .at(call.file)
        .error(
            codes::HANDLER_HIDDEN,
            Place::of(path),
            format!("the root of the crate can't name `{}`", written(path)),
        )
        .help(format!("write `pub {hidden}` where it is declared"));
}

fn written(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
