//! `#[state(singleton)]`: one value, pinned to one side. It begins as the user's `Default`.

use proc_macro2::TokenStream;
use quote::quote;

use super::{core, plain, stored};
use crate::syntax::StateDecl;

pub(super) fn run(decl: &StateDecl, durable: bool) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let item = plain::item(&decl.item);
    let durable = durable.then(|| {
        quote!(
            const DURABLE: bool = true;
        )
    });
    let further = durable.unwrap_or_default();
    let plain = plain::implementation_with(ident, &decl.item.fields, &further);
    let stored = stored::implementation(decl, "Singleton", "Pinned");
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
