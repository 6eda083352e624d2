//! `#[state(key = …)]`: one entry per key. `cora-core` implements `Stored` on its table.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{core, plain};
use crate::syntax::{KeyedArgs, NEVER, StateDecl};

pub(super) fn run(decl: &StateDecl, args: &KeyedArgs) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let KeyedArgs { key, within, reply, capacity, idle_ns, life_ns, bucket, .. } = args;
    let buckets_by = bucket.as_ref().map(|(end, _)| {
        let by = format_ident!("{}", end.word());
        quote!(
            const BUCKETS_BY: ::core::option::Option<#core::bucket::BucketsBy> =
                ::core::option::Option::Some(#core::bucket::BucketsBy::#by);
        )
    });
    let item = plain::item(&decl.item);
    let scope = within.as_ref().map_or_else(
        || quote_spanned!(key.span() => #core::state::table::scope::Everywhere),
        |(group, _)| quote!(#core::state::table::scope::Each<#group>),
    );
    let held =
        if life_ns.is_some() { quote!(#core::state::table::Lived<Self>) } else { quote!(Self) };
    let idle =
        if *idle_ns == NEVER { quote!(#core::state::table::NEVER) } else { quote!(#idle_ns) };
    let life = life_ns.map(|ns| {
        quote!(
            const LIFE: u64 = #ns;
        )
    });
    let capacity = super::capacity(capacity);
    let plain = plain::implementation_with(ident, &decl.item.fields, &of_entries(args));
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::Keyed for #ident {
            type Key = #key;
            type Scope = #scope;
            type Held = #held;
            const NAME: &'static str = #name;
            const CAPACITY: u32 = #capacity;
            const IDLE: u64 = #idle;
            #life
            const REPLY: bool = #reply;
            #buckets_by
        }
    }
}

/// What the options of entries add to `impl Plain`.
fn of_entries(args: &KeyedArgs) -> TokenStream {
    let core = core();
    let KeyedArgs { durable, recorded, on_expire, idle_by, assured_by, from, .. } = args;
    let durable = durable.then(|| {
        quote!(
            const DURABLE: bool = true;
        )
    });
    let recorded = recorded.then(|| {
        quote!(
            const RECORDED: bool = true;
        )
    });
    let on_expire = on_expire.then(|| {
        quote!(
            const HOOKED: bool = true;
        )
    });
    let forever = (args.idle_ns == NEVER && args.life_ns.is_none()).then(|| {
        quote!(
            const FOREVER: bool = true;
        )
    });
    let idle_by = idle_by.as_ref().map(|path| {
        quote!(
            const IDLE_VARIES: bool = true;
            #[inline]
            fn idle_time(&self) -> ::core::time::Duration {
                #path(self)
            }
        )
    });
    let assured_by = assured_by.as_ref().map(|path| {
        quote!(
            const EVICTS: bool = true;
            #[inline]
            fn is_assured(&self) -> bool {
                #path(self)
            }
        )
    });
    let from = from.as_ref().map(|before| {
        quote!(
            const BEFORE: &'static [(&'static str, usize)] = <#before as #core::plain::Plain>::FIELDS;
            fn from_before(bytes: &[u8]) -> ::core::option::Option<Self> {
                let before = <#before as #core::plain::Plain>::get(bytes)?;
                ::core::option::Option::Some(<Self as ::core::convert::From<#before>>::from(before))
            }
        )
    });
    quote!(#durable #recorded #on_expire #forever #idle_by #assured_by #from)
}
