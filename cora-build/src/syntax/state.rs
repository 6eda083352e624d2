//! The shape of a type with `#[state]`: its arguments as written, and its item.

use proc_macro2::TokenStream;
use quote::ToTokens as _;

use super::arguments::{self, Argument};
use super::{Reader, depth, is_attribute};
use crate::diag::{Code, Diagnostics, Place, codes};

/// A type with `#[state]`, before any check.
#[derive(Clone, Debug)]
pub(crate) struct StateShape {
    /// The arguments that could be read.
    pub(crate) arguments: Vec<Argument>,
    /// Their place.
    pub(crate) place: Place,
    /// Whether they are complete.
    pub(crate) complete: bool,
    /// The item, without `#[state]`.
    pub(crate) item: syn::ItemStruct,
}

/// Reads arguments and item; `None` if the item is not a struct.
pub(crate) fn run(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<StateShape> {
    if !depth::holds(&[&args, &item], diagnostics) {
        return None;
    }
    let mut item = item_struct(item, diagnostics)?;
    once(&mut item, reader, diagnostics);
    let before = diagnostics.errors();
    let place = if args.is_empty() && reader == Reader::BuildScript {
        item.ident.span().into()
    } else {
        arguments::place(&args)
    };
    let arguments = arguments::run(args, diagnostics);
    Some(StateShape { arguments, place, complete: diagnostics.errors() == before, item })
}

/// Removes the attribute from the item. A macro gets its item without it.
fn once(item: &mut syn::ItemStruct, reader: Reader, diagnostics: &mut Diagnostics) {
    let mut mine = Vec::new();
    item.attrs.retain(|attribute| {
        let is_mine = is_attribute(attribute, "state");
        if is_mine {
            mine.push(Place::of(attribute));
        }
        !is_mine
    });
    let allowed = usize::from(reader == Reader::BuildScript);
    for place in mine.into_iter().skip(allowed) {
        diagnostics
            .error(
                codes::STATE_TWICE_ON_ITEM,
                place,
                format!("`{}` is a state already", item.ident),
            )
            .help("a type is one state of one kind: take one `#[state]` away");
    }
}

/// Parses the item as a struct.
fn item_struct(item: TokenStream, diagnostics: &mut Diagnostics) -> Option<syn::ItemStruct> {
    let mut refuse = |code: Code, place: Place, message: String, help: &str| {
        diagnostics.error(code, place, message).help(help);
        None
    };
    match syn::parse2(item) {
        Ok(syn::Item::Struct(item)) => Some(item),
        Ok(syn::Item::Enum(item)) => refuse(
            codes::STATE_ENUM,
            item.enum_token.span.into(),
            format!("`{}` is an enum, and a state is a struct", item.ident),
            "keep the enum, with `#[derive(Clone, Copy, Plain)]`, as a field of a struct",
        ),
        Ok(syn::Item::Union(item)) => refuse(
            codes::STATE_UNION,
            item.union_token.span.into(),
            format!(
                "`{}` is a union, and nobody can tell which of its fields is meant",
                item.ident
            ),
            "make it a struct",
        ),
        Ok(other) => refuse(
            codes::STATE_ITEM,
            first_line(&other.to_token_stream()),
            "`#[state]` stands on something other than a type".to_owned(),
            "put it on a struct",
        ),
        Err(error) => refuse(
            codes::STATE_ITEM,
            error.span().into(),
            format!("this is not a struct: {error}"),
            "put `#[state]` on a struct",
        ),
    }
}

/// Only the first token, because a whole item would be underlined over many lines.
fn first_line(tokens: &TokenStream) -> Place {
    let first = tokens.clone().into_iter().find(|token| {
        !matches!(token, proc_macro2::TokenTree::Punct(_) | proc_macro2::TokenTree::Group(_))
    });
    Place::of(&first)
}
