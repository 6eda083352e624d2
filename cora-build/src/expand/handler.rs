//! `#[flow_handler]`: the unchanged function, which runs with every state in reach, and a hidden
//! type for the runtimes, with a body that is generic over the states in reach.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Meta, Pat, PathArguments, Signature, Type, Visibility};

use super::{core, guard};
use crate::check::parameter::PACKETS;
use crate::syntax::{HandlerDecl, Mark, OtherKind, ParameterAccess, depth};

pub(super) fn run(decl: &HandlerDecl) -> TokenStream {
    let core = core();
    let hidden = format_ident!("__cora_{}", decl.ident, span = decl.ident.span());
    let own = of_hidden(decl, &hidden);
    let function = function(decl, &own);
    let declared = hidden_type(decl, &hidden);
    let body = body(decl);
    let handler = handler(decl, &own);
    let (takes, told) = (takes(decl, &hidden, &own), told(decl));
    // A handler that stays at the host may use what bare metal lacks.
    let has_code = decl.at_host.then(|| quote!(#[cfg(not(target_os = "none"))]));
    quote! {
        #has_code
        #function

        #declared

        #has_code
        impl #hidden {
            #body
        }

        #[automatically_derived]
        impl #core::app::Handler for #hidden {
            #handler
        }

        #takes

        #told
    }
}

/// That packets carry the keys of the tables that a packet's handler takes.
fn told(decl: &HandlerDecl) -> Option<TokenStream> {
    if decl.takes().is_some() {
        return None;
    }
    let core = core();
    let tables =
        decl.parameters.iter().filter(|it| matches!(it.access, ParameterAccess::Table { .. }));
    let checks: Vec<TokenStream> = tables
        .map(|table| {
            let referent = &table.referent;
            quote_spanned!(referent.span() => #core::state::table::told::<#referent>();)
        })
        .collect();
    (!checks.is_empty()).then(|| quote!(const _: () = { #(#checks)* };))
}

/// That a message is taken, and by which handler.
fn takes(decl: &HandlerDecl, hidden: &Ident, own: &TokenStream) -> Option<TokenStream> {
    let (core, message) = (core(), decl.takes()?);
    let (ty, reach) = (&message.ty, guard::reach());
    let names = state_names(decl);
    let Call { outbox, before, arguments } = call(decl, &names);
    // By value, it is copied here alone.
    let message = if message.shared { quote!(message) } else { quote!(*message) };
    let run = quote! {
        #before
        #own::body::<#reach>(touched, #message, #(#arguments),*)
    };
    let run = if decl.at_host {
        let unused = (decl.sends().next().is_some()).then(|| quote!(, #outbox));
        only_at_host(&run, &quote!(message, packet, touched #(, #names)* #unused))
    } else {
        run
    };
    Some(quote! {
        #[automatically_derived]
        impl #core::message::Taken for #ty {}

        #[automatically_derived]
        impl #core::app::Takes for #hidden {
            type Message = #ty;

            #[inline(always)]
            #[allow(unused_variables, reason = "not each handler looks beyond its message")]
            fn take<#reach: #core::state::Reach>(
                message: &#ty,
                packet: &#core::packet::Packet<'_>,
                (#(#names,)*): Self::Parameters<'_>,
                touched: &#core::state::Touched,
                #outbox: &mut #core::outbox::Outbox,
            ) -> #core::verdict::Verdict {
                #run
            }
        }
    })
}

/// The names of the states in generated functions.
fn state_names(decl: &HandlerDecl) -> Vec<Ident> {
    (0..decl.parameters.len()).map(|number| format_ident!("state_{number}")).collect()
}

/// The function after a fault: unchanged except for parts that would cause further compiler errors.
pub(super) fn kept(item: TokenStream) -> TokenStream {
    if depth::exceeded(&item).is_some() {
        return item;
    }
    let Ok(mut function) = syn::parse2::<syn::ItemFn>(item.clone()) else { return item };
    function.sig.variadic = None;
    elide_packet_lifetime(&mut function.sig);
    quote!(#function)
}

/// The hidden type is as visible as the handler, or the hook.
///
/// A `pub` handler may be a part of other crates' programs, and its states may still be private:
/// then only its own crate can use it. The compiler allows private types in the items of a trait's
/// `impl` only if the type of the `impl` names them too, so its parameter does. Its default is what
/// generated code means by the bare name.
pub(super) fn hidden_type(decl: &HandlerDecl, hidden: &Ident) -> TokenStream {
    let visibility = &decl.item.vis;
    if !is_public(decl) {
        return quote! {
            #[doc(hidden)]
            #[allow(non_camel_case_types, dead_code, reason = "named after the handler, for Cora's use")]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
            #visibility struct #hidden;
        };
    }
    let states = decl.parameters.iter().map(|parameter| &parameter.referent);
    let states = states.chain(decl.expires().map(|expires| &expires.referent));
    quote! {
        #[doc(hidden)]
        #[allow(
            non_camel_case_types,
            dead_code,
            private_interfaces,
            reason = "named after the handler, for Cora's use"
        )]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #visibility struct #hidden<__CoraStates = (#(#states,)*)>(
            ::core::marker::PhantomData<fn() -> __CoraStates>
        );
    }
}

/// The hidden type as the start of a path to what it has.
fn of_hidden(decl: &HandlerDecl, hidden: &Ident) -> TokenStream {
    // Only within brackets does a path use the default of the parameter.
    if is_public(decl) { quote!(<#hidden>) } else { quote!(#hidden) }
}

fn is_public(decl: &HandlerDecl) -> bool {
    matches!(decl.item.vis, Visibility::Public(_))
}

/// The user's function: same name, same signature.
fn function(decl: &HandlerDecl, hidden: &TokenStream) -> TokenStream {
    let core = core();
    let attributes = decl.item.attrs.iter().map(lenient);
    let visibility = &decl.item.vis;
    let mut signature = decl.item.sig.clone();
    elide_packet_lifetime(&mut signature);
    // The names stay, but with the macro's spans: lints about the body's use of them belong to the
    // body.
    let names = fresh_names(decl);
    for (input, name) in signature.inputs.iter_mut().zip(&names) {
        if let FnArg::Typed(input) = input {
            *input.pat = Pat::Verbatim(quote!(#name));
        }
    }
    quote! {
        #(#attributes)*
        #[allow(
            dead_code,
            clippy::trivially_copy_pass_by_ref,
            clippy::needless_pass_by_ref_mut,
            reason = "the runtime calls a handler by its signature; tests may call it"
        )]
        #visibility #signature {
            #hidden::body::<#core::state::EveryState>(&#core::state::Touched::new(), #(#names),*)
        }
    }
}

/// The names of all parameters in order, with the macro's spans.
fn fresh_names(decl: &HandlerDecl) -> Vec<Ident> {
    let states = decl.parameters.iter().map(|parameter| &parameter.ident);
    let mut names: Vec<&Ident> = [&decl.packet].into_iter().chain(states).collect();
    for other in &decl.others {
        names.insert(1 + other.at, &other.ident);
    }
    names.into_iter().map(fresh).collect()
}

fn fresh(ident: &Ident) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::call_site());
    ident
}

/// The user's body with its guards.
fn body(decl: &HandlerDecl) -> TokenStream {
    let core = core();
    let attributes = decl
        .item
        .attrs
        .iter()
        .filter(|attribute| is_lint(attribute) || has_name(attribute, "inline"));
    let attributes: Vec<Attribute> = attributes.map(lenient).collect();
    let inline = attributes.iter().any(|attribute| has_name(attribute, "inline"));
    // It has one caller per side, and the cost of a packet is counted in instructions.
    let inline = (!inline).then(|| quote!(#[inline(always)]));
    let mut signature = decl.item.sig.clone();
    elide_packet_lifetime(&mut signature);
    let (inputs, output) = (&signature.inputs, &signature.output);
    let (reach, touched) = (guard::reach(), guard::touched());
    let block = guard::run(decl);
    quote! {
        #(#attributes)*
        #inline
        #[allow(
            clippy::trivially_copy_pass_by_ref,
            clippy::needless_pass_by_ref_mut,
            clippy::too_many_arguments,
            reason = "the runtime calls a handler by its signature"
        )]
        fn body<#reach: #core::state::Reach>(#touched: &#core::state::Touched, #inputs) #output #block
    }
}

/// The contents of `impl Handler`.
fn handler(decl: &HandlerDecl, hidden: &TokenStream) -> TokenStream {
    let core = core();
    let name = &decl.name;
    let referents: Vec<&Type> =
        decl.parameters.iter().map(|parameter| &parameter.referent).collect();
    let references = references(decl);
    let names = state_names(decl);
    let sends = (decl.sends_packets() || decl.sends().next().is_some()).then(|| {
        quote!(
            const SENDS: bool = true;
        )
    });
    let reach = guard::reach();
    let reads_no_packet = (decl.takes().is_none() && !guard::names_packet(decl)).then(|| {
        quote!(
            const READS_PACKET: bool = false;
        )
    });
    let takes_headers = decl.takes_headers();
    let headers = takes_headers.then(|| {
        quote!(
            const READS_PAYLOAD: bool = false;
        )
    });
    let (outbox, run) = match decl.takes() {
        None => run_by_packet(decl, hidden, &names, sends.is_some()),
        Some(message) => {
            let ty = &message.ty;
            let run = quote! {
                match &#core::message::receive::<#ty>(packet) {
                    ::core::result::Result::Ok(message) => {
                        let states = (#(#names,)*);
                        <Self as #core::app::Takes>::take::<#reach>(
                            message, packet, states, touched, out,
                        )
                    }
                    ::core::result::Result::Err(_) => <#ty as #core::message::Message>::UNREAD,
                }
            };
            (quote!(out), run)
        }
    };
    quote! {
        const NAME: &'static str = #name;
        #reads_no_packet
        #headers
        #sends
        type States = (#(#referents,)*);
        #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
        type Parameters<'a> = (#(#references,)*);

        #[inline(always)]
        fn run<#reach: #core::state::Reach>(
            packet: &mut #core::packet::Packet<'_>,
            (#(#names,)*): Self::Parameters<'_>,
            touched: &#core::state::Touched,
            #outbox: &mut #core::outbox::Outbox,
        ) -> #core::verdict::Verdict {
            #run
        }
    }
}

/// The name of the outbox, and what runs a handler of packets.
fn run_by_packet(
    decl: &HandlerDecl,
    hidden: &TokenStream,
    names: &[Ident],
    sends: bool,
) -> (TokenStream, TokenStream) {
    let (core, reach) = (core(), guard::reach());
    let Call { outbox, before, arguments } = call(decl, names);
    // This enforces the real type, whatever the name refers to.
    let coerced = decl.takes_headers().then(|| {
        quote!(
            let packet: &mut #core::packet::Headers<'_> = packet;
        )
    });
    let run = quote! {
        #coerced
        #before
        #hidden::body::<#reach>(touched, packet, #(#arguments),*)
    };
    if !decl.at_host {
        return (outbox, run);
    }
    let also = sends.then(|| quote!(, #outbox));
    let run = only_at_host(&run, &quote!(packet, touched #(, #names)* #also));
    (outbox, run)
}

/// What runs at the host alone; bare metal has none of it, and gives the packet to the host.
fn only_at_host(run: &TokenStream, unused: &TokenStream) -> TokenStream {
    let core = core();
    quote! {
        #[cfg(target_os = "none")]
        {
            let _ = (#unused);
            ::core::result::Result::Err(#core::verdict::Stop::punt())
        }
        #[cfg(not(target_os = "none"))]
        {
            #run
        }
    }
}

/// How the runtime's function calls the user's.
pub(super) struct Call {
    /// The name of the runtime's outbox.
    pub(super) outbox: TokenStream,
    /// What stands before the call: the envelope, and the outboxes for messages.
    pub(super) before: TokenStream,
    /// The arguments behind the first one.
    pub(super) arguments: Vec<TokenStream>,
}

/// The call with these names of the states.
pub(super) fn call(decl: &HandlerDecl, states: &[Ident]) -> Call {
    let core = core();
    let mut arguments: Vec<TokenStream> = states.iter().map(|state| quote!(#state)).collect();
    let mut outboxes = TokenStream::new();
    let mut has_envelope = false;
    for other in &decl.others {
        let argument = match &other.kind {
            OtherKind::Packets => quote!(out),
            OtherKind::Envelope => {
                has_envelope = true;
                quote!(&envelope)
            }
            OtherKind::Messages(message) => {
                let (ty, name) = (&message.ty, format_ident!("outbox_{}", other.at));
                outboxes.extend(quote!(let mut #name = out.messages::<#ty>();));
                quote!(&mut #name)
            }
        };
        arguments.insert(other.at, argument);
    }
    let sends = !outboxes.is_empty();
    let envelope = (sends || has_envelope).then(|| {
        let of = match decl.mark() {
            Mark::Handler => quote!(of(packet)),
            Mark::Hook | Mark::Timer => quote!(of_nobody()),
        };
        quote!(let envelope = #core::message::Envelope::#of;)
    });
    let begin = sends.then(|| quote!(out.begin(&envelope);));
    let takes_outbox = sends || decl.sends_packets();
    let outbox = if takes_outbox { quote!(out) } else { quote!(_) };
    Call { outbox, before: quote!(#envelope #begin #outboxes), arguments }
}

/// The types of the parameters that are states: references.
pub(super) fn references(decl: &HandlerDecl) -> impl Iterator<Item = TokenStream> {
    decl.parameters.iter().map(|parameter| {
        let referent = &parameter.referent;
        match parameter.access {
            ParameterAccess::Table { mutable: true }
            | ParameterAccess::Merged { mutable: true }
            | ParameterAccess::Objects { mutable: true }
            | ParameterAccess::Region { mutable: true }
            | ParameterAccess::Unique => quote!(&'a mut #referent),
            ParameterAccess::Table { mutable: false }
            | ParameterAccess::Merged { mutable: false }
            | ParameterAccess::Objects { mutable: false }
            | ParameterAccess::Region { mutable: false }
            | ParameterAccess::Shared
            | ParameterAccess::Rows(_) => quote!(&'a #referent),
        }
    })
}

/// `&mut Packet` becomes `&mut Packet<'_>`, and so does `Headers`: users need not write the
/// lifetime, and no lint should ask them to.
fn elide_packet_lifetime(signature: &mut Signature) {
    for input in &mut signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let ty = match &mut *input.ty {
            Type::Reference(reference) => &mut *reference.elem,
            other => other,
        };
        let Type::Path(path) = ty else { continue };
        let Some(last) = path.path.segments.last_mut() else { continue };
        if PACKETS.iter().any(|name| last.ident == name) && last.arguments.is_none() {
            last.arguments = PathArguments::AngleBracketed(syn::parse_quote!(<'_>));
        }
    }
}

/// The attributes are now on two functions, so `expect` may be fulfilled on only one.
fn lenient(attribute: &Attribute) -> Attribute {
    let mut attribute = attribute.clone();
    if let Meta::List(list) = &mut attribute.meta
        && list.path.is_ident("expect")
    {
        list.path = syn::parse_quote!(allow);
    }
    attribute
}

fn is_lint(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|name| has_name(attribute, name))
}

fn has_name(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident(name)
}
