//! A message's wire form, its key and its fields.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{Data, Field, Fields, Ident, Member};

use super::fields;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::is_attribute;
use crate::syntax::message::MessageShape;
use crate::syntax::names::{shown, whole_segment};
use crate::syntax::{KeyField, MessageDecl, MessageKey, WireForm};

/// Checks a message; `None` after a fault.
pub(crate) fn run(shape: MessageShape, diagnostics: &mut Diagnostics) -> Option<MessageDecl> {
    let before = diagnostics.errors();
    let MessageShape { arguments, mut item, sound } = shape;
    let generics = (codes::MESSAGE_ITEM, codes::MESSAGE_ITEM);
    fields::check_generics(&item.generics, "a message", generics, diagnostics);
    let wire = wire(&arguments, diagnostics);
    let one = one(&arguments, diagnostics);
    let fields = key_fields(&mut item.data, diagnostics);
    check_fields(&item.data, diagnostics);
    let key = key(&item, one, fields, diagnostics);
    let ident = item.ident.clone();
    let decl = MessageDecl { name: ident.unraw().to_string(), ident, wire, key: key?, item };
    (sound && diagnostics.errors() == before).then_some(decl)
}

type Arguments = [(Ident, Option<TokenStream>)];

fn find<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a (Ident, Option<TokenStream>)> {
    arguments.iter().find(|(ident, _)| ident == name)
}

/// The wire form, if there is one.
fn wire(arguments: &Arguments, diagnostics: &mut Diagnostics) -> Option<WireForm> {
    for (ident, value) in arguments.iter().filter(|(ident, _)| ident == "udp" || ident == "parse") {
        if value.is_some() {
            wrong(ident, format!("`{ident}` takes no value"), "write the word alone", diagnostics);
        }
    }
    let udp = find(arguments, "udp");
    for name in ["parse", "port"] {
        if udp.is_none()
            && let Some((ident, _)) = find(arguments, name)
        {
            let why = format!("`{name}` is about datagrams, and this message stays inside");
            wrong(ident, why, "add `udp`", diagnostics);
        }
    }
    let port = find(arguments, "port").and_then(|(ident, value)| {
        let number = value.clone().and_then(|it| syn::parse2::<syn::LitInt>(it).ok());
        let number = number.and_then(|it| it.base10_parse::<u16>().ok()).filter(|it| *it > 0);
        if number.is_none() {
            let why = "a port is a number from 1 to 65535";
            wrong(ident, why.to_owned(), "write `port = 7000`", diagnostics);
        }
        number
    });
    udp.map(|_| WireForm { parse: find(arguments, "parse").is_some(), port })
}

fn wrong(ident: &Ident, message: String, help: &str, diagnostics: &mut Diagnostics) {
    diagnostics.error(codes::MESSAGE_ARGUMENT, ident.span(), message).help(help);
}

/// Whether the argument `key = One` is there, and its place.
fn one<'a>(arguments: &'a Arguments, diagnostics: &mut Diagnostics) -> Option<&'a Ident> {
    let (ident, value) = find(arguments, "key")?;
    let is_one = value.as_ref().is_some_and(|value| value.to_string() == "One");
    if !is_one {
        let why = "`key` says `One`: all messages of the type are one flow";
        let help = "write `key = One`, or put `#[key]` on the field that tells the flow";
        wrong(ident, why.to_owned(), help, diagnostics);
    }
    Some(ident)
}

/// The fields with `#[key]`, without the attribute: of a struct, or of each variant.
fn key_fields(data: &mut Data, diagnostics: &mut Diagnostics) -> Vec<Option<KeyField>> {
    let mut take = |fields: &mut Fields| {
        let members: Vec<Member> = fields.members().collect();
        let mut found: Option<KeyField> = None;
        for (field, member) in fields.iter_mut().zip(members) {
            let Some(place) = taken(field) else { continue };
            if found.is_some() {
                diagnostics
                    .error(codes::MESSAGE_KEY, place, "a second field is the key of one message")
                    .help("make a struct with `#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]` of both");
                continue;
            }
            let name = whole_segment(&field.ty).unwrap_or_default();
            found = Some(KeyField { member, ty: field.ty.clone(), name });
        }
        found
    };
    match data {
        Data::Struct(data) => vec![take(&mut data.fields)],
        Data::Enum(data) => data.variants.iter_mut().map(|it| take(&mut it.fields)).collect(),
        Data::Union(_) => Vec::new(),
    }
}

/// Removes `#[key]` from a field; its place, if it was there.
fn taken(field: &mut Field) -> Option<Place> {
    let place = field.attrs.iter().find(|it| is_attribute(it, "key")).map(Place::of);
    field.attrs.retain(|attribute| !is_attribute(attribute, "key"));
    place
}

/// The key: of all variants, or of none.
fn key(
    item: &syn::DeriveInput,
    one: Option<&Ident>,
    fields: Vec<Option<KeyField>>,
    diagnostics: &mut Diagnostics,
) -> Option<MessageKey> {
    let first = fields.iter().flatten().next().cloned();
    let Some(first) = first else {
        return Some(if one.is_some() { MessageKey::One } else { MessageKey::None });
    };
    if let Some(one) = one {
        diagnostics
            .error(codes::MESSAGE_KEY, one.span(), "the message has a key in a field already")
            .help("keep `key = One` or `#[key]`");
        return None;
    }
    if let Data::Enum(data) = &item.data {
        for (variant, field) in data.variants.iter().zip(&fields) {
            match field {
                Some(field) if text(&field.ty) == text(&first.ty) => {}
                Some(field) => {
                    diagnostics
                        .error(
                            codes::MESSAGE_KEY,
                            Place::of(&field.ty),
                            format!(
                                "the key of `{}` is a `{}`, and that of another variant a `{}`",
                                variant.ident,
                                shown(&field.ty),
                                shown(&first.ty)
                            ),
                        )
                        .help("make them one type, or two messages");
                    return None;
                }
                None => {
                    diagnostics
                        .error(
                            codes::MESSAGE_KEY,
                            variant.ident.span(),
                            format!("`{}` has no key, and other variants have one", variant.ident),
                        )
                        .help("put `#[key]` on one of its fields, or make it a message of its own");
                    return None;
                }
            }
        }
    }
    Some(MessageKey::Fields(fields.into_iter().flatten().collect()))
}

fn text(ty: &syn::Type) -> String {
    ty.to_token_stream().to_string()
}

/// Refuses fields that are no plain data, as far as the source shows that.
fn check_fields(data: &Data, diagnostics: &mut Diagnostics) {
    let mut check = |fields: &Fields| {
        fields.iter().for_each(|field| fields::check_plain(&field.ty, diagnostics));
    };
    match data {
        Data::Struct(data) => check(&data.fields),
        Data::Enum(data) => data.variants.iter().for_each(|variant| check(&variant.fields)),
        Data::Union(_) => {}
    }
}
