//! A handler's parameters: first the packet, then its states.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::{
    FnArg, GenericArgument, Pat, PatType, PathArguments, PathSegment, Signature, Type,
    TypeReference,
};

use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::names::{HEADERS, last_segment, shown};
use crate::syntax::{
    Mark, Occasion, Other, OtherKind, Parameter, ParameterAccess, RowForm, Takes, is_attribute,
};

/// Maximum number of states of a handler, limited by the runtime's tuples.
const MOST_STATES: usize = 8;

/// Types of a packet parameter: the whole packet, or its headers.
pub(crate) const PACKETS: [&str; 2] = ["Packet", HEADERS];

const STATE_HELP: &str = "take `&mut Table<S>` for a keyed state, `&mut S` for a singleton or \
                          commutative one, `&mut Merged<S>` for a `merged` one, `&S` for a \
                          read-mostly one; `&Map<S>`, `&Prefixes<S>` \
                          or `&Acl<S>` for a configured table";

/// The first parameter: its name, and when the handler runs, once per packet or per message; `None`
/// after a fault.
pub(super) fn first(
    signature: &Signature,
    diagnostics: &mut Diagnostics,
) -> Option<(Ident, Occasion)> {
    let first = match signature.inputs.first() {
        Some(FnArg::Typed(first)) => first,
        Some(FnArg::Receiver(_)) => return None,
        None => {
            diagnostics
                .error(
                    codes::HANDLER_NO_PACKET,
                    signature.paren_token.span.join(),
                    format!("the handler `{}` takes no packet", signature.ident),
                )
                .help("begin its parameters with `packet: &mut Packet`, or `&mut Headers` if it does not read the payload");
            return None;
        }
    };
    check_attributes(first, diagnostics);
    if let Some(takes) = message(&first.ty) {
        if let Type::Reference(reference) = unwrapped(&first.ty) {
            check_lifetime(reference, diagnostics);
        }
        return Some((name(first, diagnostics)?, Occasion::Message(Box::new(takes))));
    }
    let Type::Reference(reference) = &*first.ty else {
        first_parameter(first, diagnostics);
        return None;
    };
    if reference.mutability.is_none() || !is_packet(&reference.elem) {
        first_parameter(first, diagnostics);
        return None;
    }
    check_lifetime(reference, diagnostics);
    Some((name(first, diagnostics)?, Occasion::Packet))
}

/// The message in the type of a first parameter, which is taken by value or shared: a type of the
/// program, by its name.
fn message(ty: &Type) -> Option<Takes> {
    let (ty, shared) = match unwrapped(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            (unwrapped(&reference.elem), true)
        }
        ty => (ty, false),
    };
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let name = last.ident.unraw().to_string();
    let is_its_own = path.qself.is_none()
        && last.arguments.is_none()
        && !PACKETS.contains(&name.as_str())
        && name.starts_with(char::is_uppercase);
    is_its_own.then(|| Takes { name, ty: ty.clone(), shared })
}

fn first_parameter(first: &PatType, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::HANDLER_FIRST_PARAMETER,
            Place::of(&first.ty),
            format!(
                "a handler's first parameter is the packet, and this one is `{}`",
                shown(&first.ty)
            ),
        )
        .help("begin the parameters with `packet: &mut Packet`, with `&mut Headers` if it does not read the payload, or with a message by its type");
}

/// The states, in order, without faulty ones; and the other parameters behind the first. A packet
/// among them is reported only if there is also one in the right place.
pub(super) fn states(
    mark: Mark,
    signature: &Signature,
    first: Option<&Ident>,
    diagnostics: &mut Diagnostics,
) -> (Vec<Parameter>, Vec<Other>) {
    let mut states: Vec<Parameter> = Vec::new();
    let mut others: Vec<Other> = Vec::new();
    let mut seen: BTreeMap<String, Ident> = BTreeMap::new();
    // The packet is the first after `self`, which another check refuses.
    let before = 1 + usize::from(signature.receiver().is_some());
    for input in signature.inputs.iter().skip(before) {
        let FnArg::Typed(input) = input else { continue };
        if first.is_none() && is_packet(&input.ty) {
            continue;
        }
        check_attributes(input, diagnostics);
        if let Some(kind) = other(&input.ty, diagnostics) {
            let ident = name(input, diagnostics);
            check_other(mark, input, &kind, &others, diagnostics);
            let at = states.len() + others.len();
            others.extend(ident.map(|ident| Other { at, ident, kind }));
            continue;
        }
        let (Some(ident), Some(parameter)) = (name(input, diagnostics), state(input, diagnostics))
        else {
            continue;
        };
        if let Some(earlier) = seen.get(&parameter.state) {
            diagnostics
                .error(
                    codes::TAKEN_TWICE,
                    Place::of(&input.ty),
                    format!("`{}` is the state that `{earlier}` is already", parameter.state),
                )
                .help("take it once, and pass it on where it is needed");
            continue;
        }
        seen.insert(parameter.state.clone(), ident.clone());
        states.push(Parameter { ident, ..parameter });
    }
    if let Some(ninth) = states.get(MOST_STATES) {
        diagnostics
            .error(
                codes::TOO_MANY_STATES,
                ninth.ident.span(),
                format!("a handler takes {MOST_STATES} states at most, and this is one more"),
            )
            .help("split it into handlers that the app chains, or put related data into one state");
    }
    (states, others)
}

/// What a type is, if it is an outbox or the envelope, or a reference to one.
fn other(ty: &Type, diagnostics: &mut Diagnostics) -> Option<OtherKind> {
    let Type::Path(path) = unwrapped(ty) else {
        let Type::Reference(reference) = unwrapped(ty) else { return None };
        return other(&reference.elem, diagnostics);
    };
    let last = path.path.segments.last()?;
    if last.ident == "Envelope" && last.arguments.is_none() {
        return Some(OtherKind::Envelope);
    }
    if last.ident != "Outbox" {
        return None;
    }
    let PathArguments::AngleBracketed(list) = &last.arguments else {
        return Some(OtherKind::Packets);
    };
    let types: Vec<&Type> = list
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .collect();
    let [ty] = types[..] else { return Some(OtherKind::Packets) };
    let takes = message(ty);
    if takes.is_none() {
        diagnostics
            .error(
                codes::OUTBOX_PARAMETER,
                Place::of(ty),
                format!("`{}` is not a message: an outbox is for one type of them", shown(ty)),
            )
            .help("write `&mut Outbox<M>`, where `M` is a type with `#[message]`");
    }
    Some(takes.map_or(OtherKind::Packets, |it| OtherKind::Messages(Box::new(it))))
}

/// Checks how an outbox or the envelope is borrowed, and that each is taken once.
fn check_other(
    mark: Mark,
    input: &PatType,
    kind: &OtherKind,
    earlier: &[Other],
    diagnostics: &mut Diagnostics,
) {
    let is_second = earlier.iter().any(|other| match (&other.kind, kind) {
        (OtherKind::Messages(one), OtherKind::Messages(two)) => one.name == two.name,
        (OtherKind::Packets, OtherKind::Packets) | (OtherKind::Envelope, OtherKind::Envelope) => {
            true
        }
        _ => false,
    });
    if let OtherKind::Envelope = kind {
        return check_envelope(mark, input, is_second, diagnostics);
    }
    let refused = match &*input.ty {
        _ if is_second => Some("there is one outbox for all that a handler sends of a kind"),
        Type::Reference(reference) if reference.mutability.is_some() => {
            check_lifetime(reference, diagnostics);
            None
        }
        _ => Some("packets and messages are put into the outbox, so it is lent mutably"),
    };
    if let Some(why) = refused {
        let help = match kind {
            _ if is_second => "take one of them away".to_owned(),
            OtherKind::Messages(message) => format!("write `out: &mut Outbox<{}>`", message.name),
            _ => "write `out: &mut Outbox`".to_owned(),
        };
        diagnostics.error(codes::OUTBOX_PARAMETER, Place::of(&input.ty), why).help(help);
    }
}

fn check_envelope(mark: Mark, input: &PatType, is_second: bool, diagnostics: &mut Diagnostics) {
    let (why, help) = match &*input.ty {
        _ if mark != Mark::Handler => (
            "a hook or a timer runs without a message, so there is no envelope",
            "take it away; the time is that of the first parameter",
        ),
        _ if is_second => ("a message has one envelope", "take one of them away"),
        Type::Reference(reference) if reference.mutability.is_none() => {
            return check_lifetime(reference, diagnostics);
        }
        _ => ("an envelope is read, not changed", "write `envelope: &Envelope`"),
    };
    diagnostics.error(codes::ENVELOPE_PARAMETER, Place::of(&input.ty), why).help(help);
}

/// The parameter's name; `None` for a pattern.
pub(super) fn name(input: &PatType, diagnostics: &mut Diagnostics) -> Option<Ident> {
    if let Pat::Ident(pattern) = &*input.pat
        && pattern.by_ref.is_none()
        && pattern.subpat.is_none()
    {
        return Some(pattern.ident.clone());
    }
    diagnostics
        .error(
            codes::PARAMETER_PATTERN,
            Place::of(&input.pat),
            "a handler's parameter is a pattern, and a state is followed by its name",
        )
        .help("give it a name, and take it apart inside the body");
    None
}

/// The state of a parameter's type.
fn state(input: &PatType, diagnostics: &mut Diagnostics) -> Option<Parameter> {
    let Type::Reference(reference) = &*input.ty else {
        by_value(input, diagnostics);
        return None;
    };
    check_lifetime(reference, diagnostics);
    let mutable = reference.mutability.is_some();
    let Type::Path(path) = unwrapped(&reference.elem) else {
        no_state(&reference.elem, diagnostics);
        return None;
    };
    let last = path.path.segments.last()?;
    let (state, access) = if PACKETS.iter().any(|name| last.ident == name) {
        diagnostics
            .error(
                codes::PACKET_TWICE,
                Place::of(&input.ty),
                "a handler runs for one packet, its first parameter",
            )
            .help("keep data for later packets in a state");
        return None;
    } else if last.ident == "Table" {
        (table_entry(last, &reference.elem, diagnostics)?, ParameterAccess::Table { mutable })
    } else if last.ident == "Objects" {
        (table_entry(last, &reference.elem, diagnostics)?, ParameterAccess::Objects { mutable })
    } else if last.ident == "Region" {
        (table_entry(last, &reference.elem, diagnostics)?, ParameterAccess::Region { mutable })
    } else if last.ident == "Merged" && !last.arguments.is_none() {
        (table_entry(last, &reference.elem, diagnostics)?, ParameterAccess::Merged { mutable })
    } else if let Some(form) = RowForm::of(&last.ident.to_string())
        && !last.arguments.is_none()
    {
        let access = if mutable { ParameterAccess::Unique } else { ParameterAccess::Rows(form) };
        (table_entry(last, &reference.elem, diagnostics)?, access)
    } else if path.qself.is_some() || !last.arguments.is_none() {
        no_state(&reference.elem, diagnostics);
        return None;
    } else {
        let access = if mutable { ParameterAccess::Unique } else { ParameterAccess::Shared };
        (last.ident.unraw().to_string(), access)
    };
    let ident = last.ident.clone();
    Some(Parameter { ident, access, state, referent: (*reference.elem).clone() })
}

/// Whether the type is a packet, or a reference to one.
fn is_packet(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_packet(&reference.elem),
        other => last_segment(other).is_some_and(|name| PACKETS.contains(&name.as_str())),
    }
}

fn unwrapped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => unwrapped(&inner.elem),
        Type::Group(inner) => unwrapped(&inner.elem),
        other => other,
    }
}

/// The name of `S` in `Table<S>`.
fn table_entry(
    segment: &PathSegment,
    table: &Type,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    if let PathArguments::AngleBracketed(list) = &segment.arguments
        && let (1, Some(GenericArgument::Type(entry))) = (list.args.len(), list.args.first())
    {
        let name = last_segment(entry);
        if name.is_none() {
            no_state(entry, diagnostics);
        }
        return name;
    }
    let (message, help) = if segment.ident == "Objects" {
        (
            "objects have heads of one state, and these don't say of which",
            "write `&mut Objects<S>`, where `S` is a `#[state(objects, …)]`",
        )
    } else if segment.ident == "Region" {
        (
            "a region has the items of one state, and this one doesn't say of which",
            "write `&mut Region<S>`, where `S` is a `#[state(region, length = …)]`",
        )
    } else if segment.ident == "Merged" {
        (
            "a merge is of one state, and this one doesn't say of which",
            "write `&mut Merged<S>`, where `S` is a `#[state(commutative, merged)]`",
        )
    } else {
        (
            "a table holds the entries of one state, and this one doesn't say of which",
            "write `&mut Table<S>`, where `S` is a `#[state(key = …)]`",
        )
    };
    diagnostics.error(codes::TABLE_ARGUMENT, Place::of(table), message).help(help);
    None
}

fn no_state(ty: &Type, diagnostics: &mut Diagnostics) {
    if let Type::ImplTrait(_) = ty {
        impl_trait(ty, diagnostics);
        return;
    }
    diagnostics
        .error(
            codes::PARAMETER_TYPE,
            Place::of(ty),
            format!("`{}` is not a state: a state is a type with `#[state]`", shown(ty)),
        )
        .help(STATE_HELP);
}

fn by_value(input: &PatType, diagnostics: &mut Diagnostics) {
    if let Type::ImplTrait(_) = &*input.ty {
        impl_trait(&input.ty, diagnostics);
        return;
    }
    let pointer = matches!(&*input.ty, Type::Ptr(_));
    let how = if pointer { "by raw pointer" } else { "by value" };
    diagnostics
        .error(
            codes::PARAMETER_BY_VALUE,
            Place::of(&input.ty),
            format!("`{}` is taken {how}, and a state is lent for one packet", shown(&input.ty)),
        )
        .help(STATE_HELP);
}

fn impl_trait(ty: &Type, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::HANDLER_IMPL_TRAIT,
            Place::of(ty),
            format!("`{}` may be any type, and the plan knows a state by its name", shown(ty)),
        )
        .help("name the state's type");
}

pub(super) fn check_lifetime(reference: &TypeReference, diagnostics: &mut Diagnostics) {
    if let Some(lifetime) = reference.lifetime.as_ref().filter(|lifetime| lifetime.ident != "_") {
        diagnostics
            .error(
                codes::PARAMETER_LIFETIME,
                lifetime.span(),
                format!("`{lifetime}`: packet and states are lent for one run of the handler"),
            )
            .help("take the lifetime away");
    }
}

pub(super) fn check_attributes(input: &PatType, diagnostics: &mut Diagnostics) {
    for attribute in &input.attrs {
        if is_attribute(attribute, "cfg") || is_attribute(attribute, "cfg_attr") {
            diagnostics
                .error(
                    codes::PARAMETER_ATTRIBUTE,
                    Place::of(attribute),
                    "both sides are made from the same handler, so its parameters are always there",
                )
                .help("take the attribute away");
        }
    }
}
