//! `#[state(map | prefixes | acl, …)]`: a row of a configured table. `cora-core` implements
//! `Stored` on the table.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Member;
use syn::spanned::Spanned as _;

use super::{capacity, column, core, plain};
use crate::check::fields;
use crate::syntax::{RowForm, RowsArgs, StateDecl};

pub(super) fn run(decl: &StateDecl, args: &RowsArgs) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let (item, plain) = (plain::item(&decl.item), plain::implementation(ident, &decl.item.fields));
    let configured = quote!(#core::state::configured);
    let (form, words) = match (args.form, &args.key) {
        (RowForm::Map, Some((key, _))) => (quote!(map::ByKey<#key>), quote!(map::words)),
        (RowForm::Acl, _) => (quote!(acl::ByMatch), quote!(acl::words)),
        _ => (quote!(prefixes::ByPrefix), quote!(prefixes::words)),
    };
    let capacity = capacity(&args.capacity);
    let columns = decl.item.fields.members().map(|member| column(&member));
    let from_columns = from_columns(decl);
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::Row for #ident {
            type Form = #configured::#form;
            const NAME: &'static str = #name;
            const CAPACITY: u32 = #capacity;
            const WORDS: usize = #configured::#words(#capacity);
            const COLUMNS: &'static [&'static str] = &[#(#columns),*];

            #from_columns
        }

        const _: () = #configured::fits::<#ident>();
    }
}

/// The method that reads the fields, each from its column. A row that has a `Default` needs no
/// value in any.
fn from_columns(decl: &StateDecl) -> TokenStream {
    let core = core();
    let derives = decl.item.attrs.iter().flat_map(fields::derives);
    let has_default = derives.into_iter().any(|path| fields::ends(&path, "Default"));
    let members: Vec<Member> = decl.item.fields.members().collect();
    let reads = decl.item.fields.iter().zip(&members).map(|(field, member)| {
        let column = column(member);
        let ty = &field.ty;
        if has_default {
            quote_spanned!(ty.span() => #core::config::read_or::<#ty>(file, #column, default.#member))
        } else {
            quote_spanned!(ty.span() => #core::config::read::<#ty>(file, #column))
        }
    });
    let default = has_default.then(|| {
        quote!(
            let default = <Self as ::core::default::Default>::default();
        )
    });
    let numbers: Vec<_> = (0..members.len()).map(|at| quote::format_ident!("value_{at}")).collect();
    quote! {
        #[cfg(not(target_os = "none"))]
        fn from_columns(
            file: &mut dyn #core::config::File,
        ) -> ::core::option::Option<Self> {
            let _ = &file;
            #default
            #(let #numbers = #reads;)*
            ::core::option::Option::Some(Self { #(#members: #numbers?,)* })
        }
    }
}
