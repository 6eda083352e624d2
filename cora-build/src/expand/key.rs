//! `#[derive(Key)]`: a key of plain data, told apart by its encoding.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput};

use super::{columns, core};
use crate::check::fields;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::is_attribute;
use crate::syntax::names::last_segment;

/// What `#[key(…)]` says.
struct Said {
    reply: Reply,
    /// The program implements `FromColumns` itself, or nobody does.
    no_columns: bool,
}

/// The reply key.
enum Reply {
    /// The reply direction carries the same key.
    Same,
    /// This function makes it of the key.
    By(syn::Path),
    /// It can't be told.
    Unknown,
}

/// `#[derive(Key)]`.
pub(super) fn derive(input: &DeriveInput, diagnostics: &mut Diagnostics) -> TokenStream {
    let before = diagnostics.errors();
    let generics = (codes::KEY_ITEM, codes::KEY_ITEM);
    fields::check_generics(&input.generics, "a key", generics, diagnostics);
    if !matches!(input.data, Data::Struct(_)) {
        diagnostics
            .error(
                codes::KEY_ITEM,
                input.ident.span(),
                format!("`{}` is not a struct, and a key is one", input.ident),
            )
            .help("keep it, with `#[derive(Plain)]`, as a field of a struct");
    }
    let said = said(input, diagnostics);
    if diagnostics.errors() > before {
        return TokenStream::new();
    }
    let (core, ident) = (core(), &input.ident);
    let some = quote!(::core::option::Option::Some);
    let from_columns = if said.no_columns { None } else { from_columns(input) };
    let reply = match said.reply {
        Reply::Same => quote!(#some(*self)),
        Reply::By(path) => quote!(#some(#path(self))),
        Reply::Unknown => quote!(::core::option::Option::None),
    };
    quote! {
        #[automatically_derived]
        impl #core::key::Key for #ident {
            type Packed = Self;
            const ENCODED: bool = true;

            #[inline]
            fn pack(&self) -> Self {
                *self
            }

            #[inline]
            fn unpack(packed: &Self) -> Self {
                *packed
            }

            #[inline]
            fn reply(&self) -> ::core::option::Option<Self> {
                #reply
            }
        }

        const _: () = #core::key::fits::<#ident>();

        #from_columns
    }
}

/// Types that a file can say, by their last path segment.
const READABLE: [&str; 15] = [
    "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "bool", "Address",
    "Ipv4Addr", "Mac", "Prefix",
];

/// What reads the key of a configured map from a file: each field from the column of its name. A
/// key with fields of other types is not read; its program may do so.
fn from_columns(input: &DeriveInput) -> Option<TokenStream> {
    let Data::Struct(item) = &input.data else { return None };
    let is_readable = |field: &syn::Field| {
        last_segment(&field.ty).is_some_and(|name| READABLE.contains(&name.as_str()))
    };
    if item.fields.is_empty() || !item.fields.iter().all(is_readable) {
        return None;
    }
    let (core, ident) = (core(), &input.ident);
    let items = columns::items(&item.fields, false);
    Some(quote! {
        #[automatically_derived]
        impl #core::config::FromColumns for #ident {
            #items
        }
    })
}

/// The arguments of `#[key(…)]`.
fn said(input: &DeriveInput, diagnostics: &mut Diagnostics) -> Said {
    let mut said = Said { reply: Reply::Unknown, no_columns: false };
    for attribute in input.attrs.iter().filter(|attribute| is_attribute(attribute, "key")) {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("undirected") {
                said.reply = Reply::Same;
            } else if meta.path.is_ident("reply") {
                said.reply = Reply::By(meta.value()?.parse()?);
            } else if meta.path.is_ident("no_columns") {
                said.no_columns = true;
            } else {
                return Err(meta.error("none of `undirected`, `reply = …` and `no_columns`"));
            }
            Ok(())
        });
        if read.is_err() {
            diagnostics
                .error(
                    codes::KEY_ARGUMENT,
                    Place::of(&attribute.meta),
                    "this says nothing about a key",
                )
                .help(
                    "write `#[key(undirected)]` if both directions carry the same key, \
                     `#[key(reply = Self::reversed)]` with `fn reversed(&self) -> Self`, or \
                     `#[key(no_columns)]` if you implement `FromColumns`",
                );
        }
    }
    said
}
