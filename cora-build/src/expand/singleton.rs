//! `#[state(singleton)]`: one value, pinned to one side. Its initial value is the user's `Default`,
//! or the copy of a durable one.

use proc_macro2::TokenStream;
use quote::quote;

use super::{core, plain, stored};
use crate::syntax::StateDecl;

pub(super) fn run(decl: &StateDecl, durable: bool) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let item = plain::item(&decl.item);
    let fields = &decl.item.fields;
    let (plain, stored) = if durable {
        let further = quote!(
            const DURABLE: bool = true;
        );
        let further = [further, plain::put_changed(fields)].into_iter().collect();
        let kept = quote!(
            const KEPT: bool = true;
        );
        let stored = stored::implementation_with(decl, "Singleton", "Pinned", &quote!(lend), &kept);
        (plain::implementation_with(ident, fields, &further), stored)
    } else {
        let stored = stored::implementation(decl, "Singleton", "Pinned");
        (plain::implementation(ident, fields), stored)
    };
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::Singleton for #ident {
            const NAME: &'static str = #name;
        }

        #stored
    }
}
