//! `#[on_expire]`: the unchanged function, and a hidden type for the runtimes.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Type;

use super::{core, handler};
use crate::syntax::HandlerDecl;

pub(super) fn run(decl: &HandlerDecl) -> TokenStream {
    let core = core();
    let hidden = format_ident!("__cora_{}", decl.ident, span = decl.ident.span());
    let declared = handler::hidden_type(decl, &hidden);
    let (item, ident, name) = (&decl.item, &decl.ident, &decl.name);
    let state = decl.expires.as_ref().map(|expires| &expires.referent);
    let referents: Vec<&Type> =
        decl.parameters.iter().map(|parameter| &parameter.referent).collect();
    let references = handler::references(decl);
    let names: Vec<Ident> =
        (0..decl.parameters.len()).map(|number| format_ident!("state_{number}")).collect();
    quote! {
        #[allow(
            dead_code,
            clippy::trivially_copy_pass_by_ref,
            clippy::needless_pass_by_ref_mut,
            reason = "the runtime calls a hook by its signature; tests may call it"
        )]
        #item

        #declared

        #[automatically_derived]
        impl #core::app::Hook for #hidden {
            const NAME: &'static str = #name;
            type State = #state;
            type States = (#(#referents,)*);
            #[allow(unused_lifetimes, reason = "a hook without states borrows none")]
            type Parameters<'a> = (#(#references,)*);

            #[inline]
            fn run(
                ended: &#core::state::table::Ended<#state>,
                (#(#names,)*): Self::Parameters<'_>,
            ) {
                #ident(ended, #(#names),*);
            }
        }
    }
}
