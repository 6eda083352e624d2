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
    /// Whether the attribute contains `transparent`.
    pub(crate) transparent: bool,
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
    let transparent = argument(mark, args, diagnostics);
    let mut item = item_fn(mark, item, diagnostics)?;
    once(mark, &mut item, reader, diagnostics);
    let args = args.clone();
    Some(HandlerShape { mark, args, item, transparent, sound: diagnostics.errors() == before })
}

/// Whether the attribute contains `transparent`, the only valid argument of a handler's. A hook's
/// has none, and a timer's is read later.
fn argument(mark: Mark, args: &TokenStream, diagnostics: &mut Diagnostics) -> bool {
    if mark != Mark::Handler {
        if mark == Mark::Hook && !args.is_empty() {
            diagnostics
                .error(
                    codes::HANDLER_ARGUMENTS,
                    Place::of(args),
                    "`#[on_expire]` takes no argument",
                )
                .help("its first parameter says of which state: `ended: &Ended<S>`");
        }
        return false;
    }
    let mut words = args.clone().into_iter();
    let first = words.next();
    let transparent = matches!(&first, Some(TokenTree::Ident(word)) if word == "transparent");
    if first.is_some() && !(transparent && words.next().is_none()) {
        let found = diagnostics.error(
            codes::HANDLER_ARGUMENTS,
            Place::of(args),
            "`#[flow_handler]` takes no argument but `transparent`",
        );
        let near = match &first {
            Some(TokenTree::Ident(word)) => nearest(&word.to_string(), ["transparent"]),
            _ => None,
        };
        found.help(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "the plan says where a handler runs, and its parameters say which states it uses"
                    .to_owned()
            }
        });
    }
    transparent
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
