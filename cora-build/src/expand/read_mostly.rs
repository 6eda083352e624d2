//! `#[state(read_mostly)]`: a copy on each side, replaced in whole versions by the control plane. It
//! begins as the user's `Default`, and versions are made by the user's `Configure`.

use proc_macro2::TokenStream;
use quote::quote;

use super::{core, plain, stored};
use crate::syntax::StateDecl;

pub(super) fn run(decl: &StateDecl) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let item = plain::item(&decl.item);
    let plain = plain::implementation(ident, &decl.item.fields);
    let stored = stored::implementation(decl, "ReadMostly", "Versioned");
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::ReadMostly for #ident {
            const NAME: &'static str = #name;
        }

        #stored
    }
}
