//! `Stored` for states with one value per side.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::core;
use crate::syntax::StateDecl;

/// `impl Stored` with this kind and home, both named as in `cora_core::state`.
pub(super) fn implementation(decl: &StateDecl, kind: &str, home: &str) -> TokenStream {
    implementation_with(decl, kind, home, &quote!(value), &TokenStream::new())
}

/// The same, with the home's method that borrows the value, and additional items.
pub(super) fn implementation_with(
    decl: &StateDecl,
    kind: &str,
    home: &str,
    lend: &TokenStream,
    further: &TokenStream,
) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let (kind, home) = (format_ident!("{kind}"), format_ident!("{home}"));
    // A replica is created in place; the other kinds come from the user, by value.
    let value = (kind != "Commutative").then(|| {
        quote!(
            const VALUE: usize = ::core::mem::size_of::<Self>();
        )
    });
    quote! {
        const _: () = #core::state::within_limit::<#ident>();

        #[automatically_derived]
        impl #core::state::Stored for #ident {
            const NAME: &'static str = #name;
            const KIND: #core::state::Kind = #core::state::Kind::#kind;
            const BYTES: usize = #core::state::#home::<Self>::BYTES;
            #value
            #further
            type Home = #core::state::#home<Self>;

            fn create(
                memory: &mut #core::state::Memory,
            ) -> ::core::result::Result<Self::Home, #core::state::OutOfMemory> {
                #core::state::#home::create(memory)
            }

            #[inline]
            fn borrow(home: &mut Self::Home) -> &mut Self {
                home.#lend()
            }
        }
    }
}
