//! `Plain`, field by field: for keyed, singleton and read-mostly states, and for
//! `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Ident, ItemStruct, Member, Type};

use super::{core, plain_enum};
use crate::check::fields;
use crate::diag::{Code, Diagnostics, Place, codes};

/// The item of a plain-data state, with the derives that `Plain` requires.
pub(super) fn item(item: &ItemStruct) -> TokenStream {
    let derives = missing_derives(&item.attrs);
    let mut item = item.clone();
    item.attrs.iter_mut().for_each(without_plain);
    quote! {
        #derives
        #[repr(C)]
        #item
    }
}

/// The derives that `Plain` requires and that an item with these attributes lacks.
pub(super) fn missing_derives(attributes: &[syn::Attribute]) -> TokenStream {
    let derived: Vec<syn::Path> = attributes.iter().flat_map(fields::derives).collect();
    let missing = |name: &str| !derived.iter().any(|path| fields::ends(path, name));
    let clone = missing("Clone").then(|| quote!(#[derive(::core::clone::Clone)]));
    let copy = missing("Copy").then(|| quote!(#[derive(::core::marker::Copy)]));
    quote!(#clone #copy)
}

/// Removes `Plain` from a `derive`: naming it is a fault, but it is implied.
fn without_plain(attribute: &mut syn::Attribute) {
    let mut paths = fields::derives(attribute);
    let before = paths.len();
    paths.retain(|path| !fields::ends(path, "Plain"));
    if paths.len() < before {
        *attribute = syn::parse_quote!(#[derive(#(#paths),*)]);
    }
}

/// `impl Plain` for a struct of these fields.
pub(super) fn implementation(name: &Ident, fields: &Fields) -> TokenStream {
    implementation_with(name, fields, &TokenStream::new())
}

/// A method that reports changes field by field, so that a long struct is not encoded as a whole
/// for each change.
pub(super) fn put_changed(fields: &Fields) -> TokenStream {
    let core = core();
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<Member> = fields.members().collect();
    let mutable = (!fields.is_empty()).then(|| quote!(mut));
    quote! {
        fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut #core::state::Changed<'_>) {
            let #mutable from = 0usize;
            #(
                #core::plain::Plain::put_changed(
                    &mut self.#members,
                    kept.get_mut(from..).unwrap_or_default(),
                    at + from,
                    changed,
                );
                from += <#types as #core::plain::Plain>::SIZE;
            )*
            let _ = (from, kept, at, changed);
        }
    }
}

/// The same, with additional items.
pub(super) fn implementation_with(
    name: &Ident,
    fields: &Fields,
    further: &TokenStream,
) -> TokenStream {
    let core = core();
    let plain = quote!(#core::plain::Plain);
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<Member> = fields.members().collect();
    let labels: Vec<String> = members.iter().map(label).collect();
    let mutable = (!fields.is_empty()).then(|| quote!(mut));
    let short = short(&types, &members);
    quote! {
        #[automatically_derived]
        impl #plain for #name {
            const SIZE: usize = 0 #(+ <#types as #plain>::SIZE)*;
            const FIELDS: &'static [(&'static str, usize)] =
                &[#((#labels, <#types as #plain>::SIZE)),*];
            #further
            #short

            #[inline]
            fn put(&self, out: &mut [u8]) {
                let #mutable at = 0usize;
                #(
                    <#types as #plain>::put(&self.#members, out.get_mut(at..).unwrap_or_default());
                    at += <#types as #plain>::SIZE;
                )*
                let _ = (at, out);
            }

            #[inline]
            fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
                let #mutable at = 0usize;
                let value = Self {#(
                    #members: {
                        let field = <#types as #plain>::get(bytes.get(at..)?)?;
                        at += <#types as #plain>::SIZE;
                        field
                    },
                )*};
                let _ = (at, bytes);
                ::core::option::Option::Some(value)
            }

            #[inline]
            fn read(&mut self, bytes: &[u8]) -> bool {
                let #mutable at = 0usize;
                #(
                    if !<#types as #plain>::read(
                        &mut self.#members,
                        bytes.get(at..).unwrap_or_default(),
                    ) {
                        return false;
                    }
                    at += <#types as #plain>::SIZE;
                )*
                let _ = (at, bytes);
                true
            }

            fn describe(&self, to: &mut dyn #core::plain::Describe) {
                to.open();
                #(
                    to.field(#labels);
                    <#types as #plain>::describe(&self.#members, to);
                )*
                to.close();
            }
        }
    }
}

/// The short form, field by field.
fn short(types: &[&Type], members: &[Member]) -> TokenStream {
    let core = core();
    let plain = quote!(#core::plain::Plain);
    quote! {
        const SHORTENS: bool = false #(|| <#types as #plain>::SHORTENS)*;

        #[inline]
        fn put_short(&self, to: &mut #core::short::ShortWriter<'_>) {
            #(<#types as #plain>::put_short(&self.#members, to);)*
            let _ = to;
        }

        #[inline]
        fn get_short(
            from: &mut #core::short::ShortReader<'_>,
        ) -> ::core::option::Option<Self> {
            let _ = &from;
            ::core::option::Option::Some(Self {
                #(#members: <#types as #plain>::get_short(from)?,)*
            })
        }
    }
}

/// The name of a field in reports.
pub(super) fn label(member: &Member) -> String {
    use syn::ext::IdentExt as _;
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// `#[derive(Plain)]`.
pub(super) fn derive(input: &DeriveInput, diagnostics: &mut Diagnostics) -> TokenStream {
    let generics = (codes::PLAIN_GENERIC, codes::PLAIN_GENERIC);
    let before = diagnostics.errors();
    fields::check_generics(&input.generics, "plain data", generics, diagnostics);
    let implementation = match &input.data {
        Data::Struct(data) => {
            for field in &data.fields {
                fields::check_plain(&field.ty, diagnostics);
            }
            let changed = put_changed(&data.fields);
            Some(implementation_with(&input.ident, &data.fields, &changed))
        }
        Data::Enum(data) => plain_enum::run(&input.ident, data, diagnostics),
        Data::Union(data) => {
            refuse(
                codes::PLAIN_ITEM,
                data.union_token.span.into(),
                format!(
                    "`{}` is a union, and nobody can tell which of its fields is meant",
                    input.ident
                ),
                "make it an enum, whose variants hold the fields",
                diagnostics,
            );
            None
        }
    };
    if diagnostics.errors() > before {
        TokenStream::new()
    } else {
        implementation.unwrap_or_default()
    }
}

pub(super) fn refuse(
    code: Code,
    place: Place,
    message: String,
    help: &str,
    diagnostics: &mut Diagnostics,
) {
    diagnostics.error(code, place, message).help(help);
}
