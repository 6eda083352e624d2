//! `#[on_expire]` and `#[every]`: the unchanged function, and a hidden type for the runtimes.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Type;

use super::{core, handler};
use crate::syntax::{HandlerDecl, Occasion};

pub(super) fn run(decl: &HandlerDecl) -> TokenStream {
    let core = core();
    let hidden = format_ident!("__cora_{}", decl.ident, span = decl.ident.span());
    let declared = handler::hidden_type(decl, &hidden);
    let item = &decl.item;
    let (kind, about, of) = match &decl.occasion {
        Occasion::Expiry(expires) => {
            let state = &expires.referent;
            let of = quote!(
                type State = #state;
            );
            (quote!(Hook), quote!(#core::state::table::Ended<#state>), of)
        }
        Occasion::Tick { period } => {
            let of = quote!(
                const PERIOD: u64 = #period;
            );
            (quote!(Timer), quote!(#core::timer::Tick), of)
        }
        Occasion::Packet | Occasion::Message(_) => return quote!(#item),
    };
    let function = function(decl, &about);
    quote! {
        #[allow(
            dead_code,
            clippy::trivially_copy_pass_by_ref,
            clippy::needless_pass_by_ref_mut,
            reason = "the runtime calls a function by its signature; tests may call it"
        )]
        #item

        #declared

        #[automatically_derived]
        impl #core::app::#kind for #hidden {
            #of
            #function
        }
    }
}

/// Name, states and call of the function, which is `about` a type.
fn function(decl: &HandlerDecl, about: &TokenStream) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let referents: Vec<&Type> =
        decl.parameters.iter().map(|parameter| &parameter.referent).collect();
    let references = handler::references(decl);
    let names: Vec<Ident> =
        (0..decl.parameters.len()).map(|number| format_ident!("state_{number}")).collect();
    let handler::Call { outbox, before, arguments } = handler::call(decl, &names);
    quote! {
        const NAME: &'static str = #name;
        type States = (#(#referents,)*);
        #[allow(unused_lifetimes, reason = "a function without states borrows none")]
        type Parameters<'a> = (#(#references,)*);

        #[inline]
        fn run(
            about: &#about,
            (#(#names,)*): Self::Parameters<'_>,
            #outbox: &mut #core::outbox::Outbox,
        ) {
            #before
            #ident(about, #(#arguments),*);
        }
    }
}
