//! `#[state(read_mostly)]`: a copy on each side, replaced in whole versions by the control plane.
//! Its initial value is the user's `Default`, and the user's `Configure` makes versions.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Member;

use super::{core, plain, stored};
use crate::syntax::StateDecl;

pub(super) fn run(decl: &StateDecl) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let item = plain::item(&decl.item);
    let members: Vec<Member> = decl.item.fields.members().collect();
    let begin_generation = quote! {
        #[inline]
        fn begin_generation(&mut self, generation: #core::state::Generation) {
            #(#core::plain::Plain::begin_generation(&mut self.#members, generation);)*
            let _ = generation;
        }
    };
    let plain = plain::implementation_with(ident, &decl.item.fields, &begin_generation);
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
