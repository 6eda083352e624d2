//! Messages: who takes them, who sends them, and the states of their flows.

use std::collections::BTreeMap;

use super::{Handler, Message, Parts, objects, path};
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::syntax::arguments::nearest;
use crate::syntax::{MessageKey, StateKind, Takes};

pub(super) type Declared<'a> = BTreeMap<&'a str, &'a Message>;

pub(super) fn run(parts: &Parts, chain: &[usize], findings: &mut Findings) {
    let declared = declared(parts, findings);
    let chain: Vec<&Handler> = chain.iter().filter_map(|at| parts.handlers.get(*at)).collect();
    for handler in parts.functions() {
        for message in handler.decl.takes().into_iter().chain(handler.decl.sends()) {
            not_declared(handler, message, &declared, findings);
        }
    }
    taken_twice(&chain, findings);
    to_nobody(parts, &chain, &declared, findings);
    ports(&chain, &declared, findings);
    flows(parts, &chain, &declared, findings);
    objects::run(parts, &chain, &declared, findings);
}

/// The messages that handlers, hooks and timers take or send.
pub(super) fn used(
    messages: Vec<Message>,
    chain: &[Handler],
    timed: &[Handler],
) -> BTreeMap<String, Message> {
    let all = || chain.iter().chain(timed).map(|handler| &handler.decl);
    let is_used = |message: &Message| {
        let name = &message.decl.name;
        all().any(|decl| decl.takes().into_iter().chain(decl.sends()).any(|it| it.name == *name))
    };
    let used = messages.into_iter().filter(is_used);
    used.map(|message| (message.decl.name.clone(), message)).collect()
}

/// All messages by name; two of one name are a fault.
fn declared<'a>(parts: &'a Parts, findings: &mut Findings) -> Declared<'a> {
    let mut declared = Declared::new();
    for message in &parts.messages {
        let name = message.decl.name.as_str();
        let Some(first) = declared.get(name) else {
            declared.insert(name, message);
            continue;
        };
        let first = path(&first.module, &first.decl.name);
        findings
            .at(message.file)
            .error(
                codes::MESSAGE_TWICE,
                message.decl.ident.span(),
                format!("a second message is called `{name}`"),
            )
            .label("rename this one, or the other")
            .help(format!("the first is `{first}`"));
    }
    declared
}

fn not_declared(
    handler: &Handler,
    message: &Takes,
    declared: &Declared<'_>,
    findings: &mut Findings,
) {
    let name = message.name.as_str();
    if declared.contains_key(name) {
        return;
    }
    let help = match nearest(name, declared.keys().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("put `#[message]` on the type `{name}`"),
    };
    findings
        .at(handler.file)
        .error(
            codes::MESSAGE_NOT_DECLARED,
            Place::of(&message.ty),
            format!("the program declares no message `{name}`"),
        )
        .help(help);
}

fn taken_twice(chain: &[&Handler], findings: &mut Findings) {
    let mut first: BTreeMap<&str, &Handler> = BTreeMap::new();
    for handler in chain {
        let Some(takes) = handler.decl.takes() else { continue };
        let Some(other) = first.get(takes.name.as_str()) else {
            first.insert(&takes.name, handler);
            continue;
        };
        findings
            .at(handler.file)
            .error(
                codes::MESSAGE_TAKEN_TWICE,
                Place::of(&takes.ty),
                format!("`{}` is taken by `{}` already", takes.name, other.decl.name),
            )
            .help("a message is handled once: send another one to the second handler");
    }
}

/// The handler of the chain that takes a message of this name.
fn taker<'a>(chain: &[&'a Handler], name: &str) -> Option<&'a Handler> {
    chain.iter().copied().find(|it| it.decl.takes().is_some_and(|takes| takes.name == name))
}

fn to_nobody(parts: &Parts, chain: &[&Handler], declared: &Declared<'_>, findings: &mut Findings) {
    for handler in chain.iter().copied().chain(&parts.timed) {
        for message in handler.decl.sends() {
            let name = message.name.as_str();
            let Some(found) = declared.get(name) else { continue };
            if found.decl.wire.is_some() || taker(chain, name).is_some() {
                continue;
            }
            findings
                .at(handler.file)
                .error(
                    codes::MESSAGE_TO_NOBODY,
                    Place::of(&message.ty),
                    format!("no handler of the chain takes a `{name}`, and it has no wire form"),
                )
                .help(format!(
                    "write a handler that takes it and name it in `app!`, or declare `{name}` with \
                     `#[message(udp)]`"
                ));
        }
    }
}

/// Of several types that come in datagrams, each has a port of its own.
fn ports(chain: &[&Handler], declared: &Declared<'_>, findings: &mut Findings) {
    let wired: Vec<(&Message, Option<u16>)> = chain
        .iter()
        .filter_map(|handler| declared.get(handler.decl.takes()?.name.as_str()).copied())
        .filter_map(|message| Some((message, message.decl.wire?.port)))
        .collect();
    for (at, (message, port)) in wired.iter().enumerate() {
        let same = wired[..at].iter().find(|(_, other)| other == port);
        let (what, help) = match (port, same) {
            (None, _) if wired.len() > 1 => (
                "comes in datagrams for any port, as other messages do".to_owned(),
                "write `#[message(udp, port = 7000)]`, with another port for each",
            ),
            (Some(port), Some((other, _))) => (
                format!("comes in datagrams for port {port}, as `{}` does", other.decl.name),
                "write another port",
            ),
            _ => continue,
        };
        findings
            .at(message.file)
            .error(
                codes::MESSAGE_PORT,
                message.decl.ident.span(),
                format!("`{}` {what}", message.decl.name),
            )
            .help(help);
    }
}

/// Each keyed state that a handler takes is of its message's flow.
fn flows(parts: &Parts, chain: &[&Handler], declared: &Declared<'_>, findings: &mut Findings) {
    let has_messages = chain.iter().any(|handler| handler.decl.takes().is_some());
    for handler in chain {
        let message = handler.decl.takes().map(|takes| declared.get(takes.name.as_str()));
        for parameter in &handler.decl.parameters {
            let state = parts.states.iter().find(|state| state.decl.name == parameter.state);
            let Some(StateKind::Keyed(args)) = state.map(|state| &state.decl.kind) else {
                continue;
            };
            let (message, within) = match message {
                None if has_messages => {
                    beside_packets(handler, Place::of(&parameter.referent), findings);
                    continue;
                }
                None | Some(None) => continue,
                Some(Some(message)) => {
                    (message, args.within.as_ref().map(|(_, name)| name.as_str()))
                }
            };
            let key = message.decl.key.name();
            let travels_by = within.unwrap_or(&args.key_name);
            if key == Some(travels_by) {
                continue;
            }
            let (name, state) = (&message.decl.name, &parameter.state);
            let (why, help) = match (&message.decl.key, key) {
                (MessageKey::None, _) | (_, None) => (
                    format!("a `{name}` has no key, so no entry of `{state}` is its own"),
                    format!(
                        "put `#[key]` on the field of `{name}` that tells the flow, or write `key = One`"
                    ),
                ),
                (_, Some(key)) => (
                    format!(
                        "the flow of a `{name}` has the key `{key}`, and `{state}` is kept by `{travels_by}`"
                    ),
                    format!("declare the state with `key = {key}`, or with `within = {key}`"),
                ),
            };
            findings
                .at(handler.file)
                .error(codes::MESSAGE_FLOW, Place::of(&parameter.referent), why)
                .help(help);
        }
    }
}

fn beside_packets(handler: &Handler, place: Place, findings: &mut Findings) {
    findings
        .at(handler.file)
        .error(
            codes::MESSAGE_BESIDE_PACKETS,
            place,
            format!(
                "`{}` is for packets, which belong to no flow in a program that takes messages",
                handler.decl.name
            ),
        )
        .help("send what it needs to keep as a message, to a handler that takes the table");
}
