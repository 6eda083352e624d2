//! `#[message]`: the item, its encoding, its key and its wire form.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Ident, Member, Type};

use super::{core, plain, plain_enum};
use crate::diag::Diagnostics;
use crate::syntax::{MessageDecl, MessageKey, WireForm};

pub(super) fn run(decl: &MessageDecl, diagnostics: &mut Diagnostics) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let (derives, item) = (plain::missing_derives(&decl.item.attrs), &decl.item);
    let plain = match &decl.item.data {
        Data::Struct(data) => Some(plain::implementation(ident, &data.fields)),
        Data::Enum(data) => plain_enum::run(ident, data, diagnostics),
        Data::Union(_) => None,
    };
    let key = key(decl);
    let (of_datagram, wired) = decl.wire.map(|wire| wire_form(ident, wire)).unzip();
    quote! {
        #derives
        #item
        #plain

        #[automatically_derived]
        impl #core::message::Message for #ident {
            const NAME: &'static str = #name;
            #key
            #of_datagram
        }

        #wired
    }
}

/// The item of a message without its attributes, after a fault.
pub(super) fn kept(item: TokenStream) -> TokenStream {
    let Ok(mut input) = syn::parse2::<DeriveInput>(item.clone()) else { return item };
    let without = |all: &mut syn::Fields| {
        for field in all {
            field.attrs.retain(|attribute| !crate::syntax::is_attribute(attribute, "key"));
        }
    };
    match &mut input.data {
        Data::Struct(data) => without(&mut data.fields),
        Data::Enum(data) => data.variants.iter_mut().for_each(|it| without(&mut it.fields)),
        Data::Union(_) => {}
    }
    quote!(#input)
}

/// Type of the key, and how a message tells it.
fn key(decl: &MessageDecl) -> TokenStream {
    let core = core();
    let (ty, keyed, body) = match &decl.key {
        MessageKey::None => (quote!(#core::key::One), false, quote!(#core::key::One)),
        MessageKey::One => (quote!(#core::key::One), true, quote!(#core::key::One)),
        MessageKey::Fields(fields) => {
            let ty: Option<&Type> = fields.first().map(|field| &field.ty);
            let members: Vec<&Member> = fields.iter().map(|field| &field.member).collect();
            let body = if let Data::Enum(data) = &decl.item.data {
                let variants: Vec<&Ident> =
                    data.variants.iter().map(|variant| &variant.ident).collect();
                quote!(match self {
                    #(Self::#variants { #members: key, .. } => *key,)*
                })
            } else {
                quote!(self.#(#members)*)
            };
            (quote!(#ty), true, body)
        }
    };
    quote! {
        type Key = #ty;
        const KEYED: bool = #keyed;

        #[inline]
        fn key(&self) -> #ty {
            #body
        }
    }
}

/// How a message is read from a datagram, and how it is written to one.
fn wire_form(ident: &Ident, wire: WireForm) -> (TokenStream, TokenStream) {
    let core = core();
    let (read, write, unread) = if wire.parse {
        (
            quote!(<Self as #core::message::Parse>::parse(datagram)),
            quote!(#core::message::Compose::compose(self, &mut #core::message::Text::new(out))),
            quote!(const UNREAD: #core::verdict::Verdict = #core::verdict::Pass;),
        )
    } else {
        (
            quote!(#core::message::read_short(datagram)),
            quote!(#core::plain::Plain::put_short(self, out)),
            TokenStream::new(),
        )
    };
    let of_datagram = quote! {
        #unread

        #[inline]
        fn of_datagram(
            datagram: &[u8],
        ) -> ::core::result::Result<Self, #core::verdict::Reason> {
            #read
        }
    };
    let wired = quote! {
        #[automatically_derived]
        impl #core::message::Wired for #ident {
            #[inline]
            fn write(&self, out: &mut #core::short::ShortWriter<'_>) {
                #write
            }
        }
    };
    (of_datagram, wired)
}
