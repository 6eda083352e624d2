//! `#[state(objects, …)]`: the head of each object. `cora-core` implements `Stored` on objects.

use proc_macro2::TokenStream;
use quote::quote;

use super::{core, plain};
use crate::syntax::{NEVER, ObjectsArgs, StateDecl};

pub(super) fn run(decl: &StateDecl, args: &ObjectsArgs) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let ObjectsArgs { bytes, capacity, idle_ns } = args;
    let idle =
        if *idle_ns == NEVER { quote!(#core::state::table::NEVER) } else { quote!(#idle_ns) };
    let flows = super::capacity(capacity);
    let item = plain::item(&decl.item);
    let plain = plain::implementation(ident, &decl.item.fields);
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::ObjectState for #ident {
            const NAME: &'static str = #name;
            const BYTES: usize = #bytes as usize;
            const FLOWS: u32 = #flows;
            const IDLE: u64 = #idle;
        }
    }
}
