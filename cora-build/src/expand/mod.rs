//! Expansions of the attributes: the item, and the code for the runtimes.
//!
//! An expansion is a function of its tokens. It refers only to `::cora::__private` and `::core`, so
//! a program depends on `cora` alone. After a fault the item is still emitted, so that one mistake
//! gives one message.

mod columns;
mod commutative;
mod guard;
mod handler;
mod hook;
mod key;
mod keyed;
mod message;
mod objects;
mod plain;
mod plain_enum;
mod read_mostly;
mod region;
mod rows;
mod singleton;
mod stored;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diag::Diagnostics;
use crate::syntax::{self, Capacity, Mark, Reader, StateDecl, StateKind, depth};
use crate::{check, item};

/// Expands `#[state(args)]`.
pub fn state(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let shape = syntax::state::run(args, item.clone(), Reader::Macro, &mut diagnostics);
    let recovered = shape.map(|shape| check::state::recover(shape, &mut diagnostics));
    let kept = match recovered {
        Some(recovered) if recovered.item_sound => kind(&recovered.decl),
        _ => item,
    };
    let errors = diagnostics.to_compile_errors();
    quote!(#kept #errors)
}

/// Expands `#[message(args)]`.
pub fn message(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let decl = item::parse_message(args, item.clone(), Reader::Macro, &mut diagnostics);
    let kept = match decl {
        Some(decl) => message::run(&decl, &mut diagnostics),
        None => message::kept(item),
    };
    let errors = diagnostics.to_compile_errors();
    quote!(#kept #errors)
}

/// The expansion of each kind.
fn kind(decl: &StateDecl) -> TokenStream {
    match &decl.kind {
        StateKind::Keyed(args) => keyed::run(decl, args),
        StateKind::Singleton { durable } => singleton::run(decl, *durable),
        StateKind::PerBucket { durable } => singleton::per_bucket(decl, *durable),
        StateKind::Commutative { merged } => commutative::run(decl, *merged),
        StateKind::ReadMostly => read_mostly::run(decl),
        StateKind::Rows(args) => rows::run(decl, args),
        StateKind::Objects(args) => objects::run(decl, args),
        StateKind::Region { length } => region::run(decl, length),
    }
}

/// Expands `#[flow_handler(args)]`, `#[on_expire]` or `#[every(args)]`.
pub fn function(mark: Mark, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let decl = item::parse_function(mark, args, item.clone(), Reader::Macro, &mut diagnostics);
    let kept = match (decl, mark) {
        (Some(decl), Mark::Handler) => handler::run(&decl),
        (Some(decl), Mark::Hook | Mark::Timer) => hook::run(&decl),
        (None, Mark::Handler) => handler::kept(item),
        (None, Mark::Hook | Mark::Timer) => item,
    };
    let errors = diagnostics.to_compile_errors();
    quote!(#kept #errors)
}

/// Expands `#[host_only]`: bare metal is built without the item.
pub fn host_only(item: &TokenStream) -> TokenStream {
    quote! {
        #[cfg(not(target_os = "none"))]
        #item
    }
}

/// Expands `#[derive(Plain)]`.
pub fn derive_plain(item: TokenStream) -> TokenStream {
    derived(item, plain::derive)
}

/// Expands `#[derive(Key)]`.
pub fn derive_key(item: TokenStream) -> TokenStream {
    derived(item, key::derive)
}

fn derived(
    item: TokenStream,
    derive: fn(&syn::DeriveInput, &mut Diagnostics) -> TokenStream,
) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    if !depth::holds(&[&item], &mut diagnostics) {
        return diagnostics.to_compile_errors();
    }
    let added = match syn::parse2::<syn::DeriveInput>(item) {
        Ok(input) => derive(&input, &mut diagnostics),
        Err(error) => error.to_compile_error(),
    };
    let errors = diagnostics.to_compile_errors();
    quote!(#added #errors)
}

/// A capacity, as the compiler evaluates it.
fn capacity(capacity: &Capacity) -> TokenStream {
    let (core, number) = (core(), capacity.number);
    capacity.named.as_ref().map_or_else(
        || quote!(#number),
        |named| quote!(#core::state::table::capacity((#named) as u64)),
    )
}

/// The path of `cora-core` in a program.
fn core() -> TokenStream {
    quote!(::cora::__private::core)
}
