//! The shape of a type with `#[message]`: its arguments as written, and its item.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Token;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};

use super::arguments::{self, nearest};
use super::{Reader, depth, is_attribute};
use crate::diag::{Diagnostics, Place, codes};

/// A type with `#[message]`, before any check.
#[derive(Clone, Debug)]
pub(crate) struct MessageShape {
    /// The arguments that could be read: names, some with values.
    pub(crate) arguments: Vec<(Ident, Option<TokenStream>)>,
    /// The item, without `#[message]`.
    pub(crate) item: syn::DeriveInput,
    /// Whether attribute and item have no fault so far.
    pub(crate) sound: bool,
}

/// The arguments of `#[message]`.
pub(crate) const ARGUMENTS: [&str; 4] = ["udp", "parse", "port", "key"];

/// Reads arguments and item; `None` if the item is neither struct nor enum.
pub(crate) fn run(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<MessageShape> {
    if !depth::holds(&[&args, &item], diagnostics) {
        return None;
    }
    let before = diagnostics.errors();
    let mut item = item_of(item, diagnostics)?;
    once(&mut item, reader, diagnostics);
    let arguments = read(args, diagnostics);
    Some(MessageShape { arguments, item, sound: diagnostics.errors() == before })
}

/// Parses the item as a struct or an enum.
fn item_of(item: TokenStream, diagnostics: &mut Diagnostics) -> Option<syn::DeriveInput> {
    let first = item
        .clone()
        .into_iter()
        .find(|token| !matches!(token, TokenTree::Punct(_) | TokenTree::Group(_)));
    let (place, message) = match syn::parse2::<syn::DeriveInput>(item) {
        Ok(item) if !matches!(item.data, syn::Data::Union(_)) => return Some(item),
        Ok(item) => {
            let what = format!("`{}` is a union, and nobody can tell what it holds", item.ident);
            (item.ident.span().into(), what)
        }
        Err(_) => {
            (Place::of(&first), "`#[message]` stands on something other than a type".to_owned())
        }
    };
    diagnostics
        .error(codes::MESSAGE_ITEM, place, message)
        .help("put it on a struct, or on an enum with a variant for each kind of message");
    None
}

/// Removes the attribute from the item. A macro gets its item without it.
fn once(item: &mut syn::DeriveInput, reader: Reader, diagnostics: &mut Diagnostics) {
    let mut mine = Vec::new();
    item.attrs.retain(|attribute| {
        let is_mine = is_attribute(attribute, "message");
        if is_mine {
            mine.push(Place::of(attribute));
        }
        !is_mine
    });
    let allowed = usize::from(reader == Reader::BuildScript);
    for place in mine.into_iter().skip(allowed) {
        diagnostics
            .error(codes::MESSAGE_ITEM, place, format!("`{}` is a message already", item.ident))
            .help("take one `#[message]` away");
    }
}

/// The arguments: words, some with a value behind `=`.
fn read(args: TokenStream, diagnostics: &mut Diagnostics) -> Vec<(Ident, Option<TokenStream>)> {
    let place = arguments::place(&args);
    let parser = |input: ParseStream<'_>| {
        let mut all = Vec::new();
        while !input.is_empty() {
            let name = Ident::parse_any(input)?;
            let value = if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                Some(value(input)?)
            } else {
                None
            };
            all.push((name, value));
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(all)
    };
    let Ok(all) = parser.parse2(args) else {
        diagnostics
            .error(codes::MESSAGE_ARGUMENT, place, "these are no arguments of `#[message]`")
            .help(HELP);
        return Vec::new();
    };
    for (name, _) in all.iter().filter(|(name, _)| !ARGUMENTS.contains(&&*name.to_string())) {
        unknown(name, diagnostics);
    }
    all
}

/// The tokens up to the next comma.
fn value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend(input.parse::<TokenTree>()?.into_token_stream());
    }
    Ok(tokens)
}

const HELP: &str = "write `#[message]`, `#[message(udp)]` or `#[message(udp, parse)]`, with `port = \
                    7000` and `key = One` where they are needed";

fn unknown(name: &Ident, diagnostics: &mut Diagnostics) {
    let help = match nearest(&name.to_string(), ARGUMENTS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => HELP.to_owned(),
    };
    diagnostics
        .error(
            codes::MESSAGE_ARGUMENT,
            name.span(),
            format!("`#[message]` has no argument `{name}`"),
        )
        .help(help);
}
