//! The shape of a function with `#[flow_handler]`, `#[on_expire]` or `#[every]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use super::arguments::nearest;
use super::{Mark, Reader, depth, is_attribute};
use crate::diag::{Diagnostics, Place, codes};

/// A function with one of the marks, before any check.
#[derive(Clone, Debug)]
pub(crate) struct HandlerShape {
    /// Its mark.
    pub(crate) mark: Mark,
    /// The item, without its mark.
    pub(crate) item: syn::ItemFn,
    /// What the attribute says.
    pub(crate) says: Says,
    /// The attribute's arguments.
    pub(crate) args: TokenStream,
    /// Whether attribute and item have no fault so far.
    pub(crate) sound: bool,
}

/// Reads attribute and item; `None` if the item is not a function with a body.
pub(crate) fn run(
    mark: Mark,
    args: &TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<HandlerShape> {
    if !depth::holds(&[args, &item], diagnostics) {
        return None;
    }
    let before = diagnostics.errors();
    let says = arguments(mark, args, diagnostics);
    let mut item = item_fn(mark, item, diagnostics)?;
    once(mark, &mut item, reader, diagnostics);
    let args = args.clone();
    Some(HandlerShape { mark, args, item, says, sound: diagnostics.errors() == before })
}

/// What the attribute of a handler says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Says {
    /// `transparent`.
    pub(crate) transparent: bool,
    /// `at = host`.
    pub(crate) at_host: bool,
}

/// Whether these arguments of a handler's attribute keep it at the host.
#[cfg(feature = "script")]
pub(crate) fn is_at_host(args: &TokenStream) -> bool {
    arguments(Mark::Handler, args, &mut Diagnostics::new()).at_host
}

/// Reads the arguments of a handler's attribute. A hook's has none, and a timer's is read later.
fn arguments(mark: Mark, args: &TokenStream, diagnostics: &mut Diagnostics) -> Says {
    let mut says = Says::default();
    if mark == Mark::Hook && !args.is_empty() {
        diagnostics
            .error(codes::HANDLER_ARGUMENTS, Place::of(args), "`#[on_expire]` takes no argument")
            .help("its first parameter says of which state: `ended: &Ended<S>`");
    }
    if mark != Mark::Handler {
        return says;
    }
    let all: Vec<TokenTree> = args.clone().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ',');
    for argument in all.split(is_comma).filter(|argument| !argument.is_empty()) {
        let words: Vec<String> = argument.iter().map(ToString::to_string).collect();
        let place = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["transparent"] if !says.transparent => &mut says.transparent,
            ["at", "=", "host"] if !says.at_host => &mut says.at_host,
            _ => {
                unknown(argument, &words, diagnostics);
                continue;
            }
        };
        *place = true;
    }
    says
}

/// Reports an argument that a handler does not take, or takes once.
fn unknown(argument: &[TokenTree], words: &[String], diagnostics: &mut Diagnostics) {
    let tokens: TokenStream = argument.iter().cloned().collect();
    let found = diagnostics.error(
        codes::HANDLER_ARGUMENTS,
        Place::of(&tokens),
        "`#[flow_handler]` takes no argument but `transparent` and `at = host`, each once",
    );
    let [first, rest @ ..] = words else { return };
    let near = nearest(first, ["transparent", "at"]);
    found.help(match (first.as_str(), near) {
        ("at", _) if rest.first().is_some_and(|sign| sign == "=") => {
            "`at = host` keeps a handler at the host; where any other handler runs, the plan says"
                .to_owned()
        }
        (_, Some("at")) => "did you mean `at = host`?".to_owned(),
        (_, Some(near)) if near != first => format!("did you mean `{near}`?"),
        _ => "the plan says where a handler runs, and its parameters say which states it uses"
            .to_owned(),
    });
}

/// Removes the attribute from the item. A macro gets its item without it.
fn once(mark: Mark, item: &mut syn::ItemFn, reader: Reader, diagnostics: &mut Diagnostics) {
    let mut mine = Vec::new();
    item.attrs.retain(|attribute| {
        let is_mine = is_attribute(attribute, mark.attribute());
        if is_mine {
            mine.push(Place::of(attribute));
        }
        !is_mine
    });
    let allowed = usize::from(reader == Reader::BuildScript);
    for place in mine.into_iter().skip(allowed) {
        diagnostics
            .error(
                codes::HANDLER_TWICE,
                place,
                format!("`{}` is a {} already", item.sig.ident, mark.noun()),
            )
            .help(format!("take one `#[{}]` away", mark.attribute()));
    }
}

/// Parses the item as a function with a body.
fn item_fn(mark: Mark, item: TokenStream, diagnostics: &mut Diagnostics) -> Option<syn::ItemFn> {
    let (place, message) = match syn::parse2(item) {
        Ok(syn::Item::Fn(item)) => return Some(item),
        Ok(other) => {
            let tokens = other.to_token_stream().into_iter();
            let mut words = tokens.filter(|token| matches!(token, TokenTree::Ident(_)));
            let what =
                format!("`#[{}]` stands on something other than a function", mark.attribute());
            (Place::of(&words.next()), what)
        }
        Err(error) => (error.span().into(), format!("this is not a function with a body: {error}")),
    };
    diagnostics
        .error(codes::HANDLER_ITEM, place, message)
        .help(format!("put it on `{}`", mark.signature()));
    None
}
