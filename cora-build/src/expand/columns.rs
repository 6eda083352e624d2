//! Fields that are read from the columns of a configuration file, each from the one of its name.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Fields, Member};

use super::core;

/// `const COLUMNS`, and the method `from_columns`. With a default, a row needs no value in any
/// column.
pub(super) fn items(fields: &Fields, has_default: bool) -> TokenStream {
    let core = core();
    let members: Vec<Member> = fields.members().collect();
    let columns: Vec<String> = members.iter().map(column).collect();
    let reads = fields.iter().zip(&members).zip(&columns).map(|((field, member), column)| {
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
    let numbers: Vec<_> = (0..members.len()).map(|at| format_ident!("value_{at}")).collect();
    quote! {
        const COLUMNS: &'static [&'static str] = &[#(#columns),*];

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

/// The column of a field.
fn column(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}
