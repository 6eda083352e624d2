//! `#[state(region, length = …)]`: an item. `cora-core` implements `Stored` on regions.

use proc_macro2::TokenStream;
use quote::quote;

use super::{core, plain};
use crate::syntax::{Capacity, StateDecl};

pub(super) fn run(decl: &StateDecl, length: &Capacity) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let length = super::capacity(length);
    let item = plain::item(&decl.item);
    let plain = plain::implementation(ident, &decl.item.fields);
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::RegionState for #ident {
            const NAME: &'static str = #name;
            const LENGTH: u32 = #length;
        }
    }
}
