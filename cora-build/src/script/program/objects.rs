//! Objects: each handler that takes some runs for a flow of messages, and all of them for flows
//! with keys of one type.

use std::collections::BTreeMap;

use super::messages::Declared;
use super::{Handler, Parts, Program, State};
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::syntax::{ParameterAccess, StateKind};

pub(super) fn run(
    parts: &Parts,
    chain: &[&Handler],
    declared: &Declared<'_>,
    findings: &mut Findings,
) {
    // By the name of the state: the first handler that takes it, and the key of its flows.
    let mut first: BTreeMap<&str, (&Handler, &str)> = BTreeMap::new();
    for handler in chain {
        for parameter in &handler.decl.parameters {
            let state = parts.states.iter().find(|state| state.decl.name == parameter.state);
            let is_objects =
                state.is_some_and(|state| matches!(state.decl.kind, StateKind::Objects(_)));
            if !is_objects || !matches!(parameter.access, ParameterAccess::Objects { .. }) {
                continue;
            }
            let (place, name) = (Place::of(&parameter.referent), parameter.state.as_str());
            let Some(takes) = handler.decl.takes() else {
                let why = format!(
                    "`{}` is for packets, and objects belong to a flow of messages",
                    handler.decl.name
                );
                without_flow(handler, place, why, findings);
                continue;
            };
            // One that is not declared is reported elsewhere.
            let Some(message) = declared.get(takes.name.as_str()) else { continue };
            let Some(key) = message.decl.key.name() else {
                let why =
                    format!("a `{}` has no key, so no objects of `{name}` are its own", takes.name);
                without_flow(handler, place, why, findings);
                continue;
            };
            match first.get(name) {
                Some((other, other_key)) if *other_key != key => {
                    findings
                        .at(handler.file)
                        .error(
                            codes::OBJECTS_OF_TWO_KEYS,
                            place,
                            format!(
                                "the objects of `{name}` belong to flows by `{other_key}` in `{}`, and by `{key}` here",
                                other.decl.name
                            ),
                        )
                        .help("give the messages keys of one type, or each handler objects of its own");
                }
                Some(_) => {}
                None => _ = first.insert(name, (handler, key)),
            }
        }
    }
}

fn without_flow(handler: &Handler, place: Place, why: String, findings: &mut Findings) {
    findings.at(handler.file).error(codes::OBJECTS_WITHOUT_FLOW, place, why).help(
        "take a message with a key: `#[key]` on the field that tells the flow, or `key = One`",
    );
}

/// The type of the keys of the flows that the objects of a state belong to.
pub(super) fn key_of<'a>(program: &'a Program, state: &State) -> Option<&'a str> {
    let takes = |handler: &&Handler| {
        handler.decl.parameters.iter().any(|parameter| parameter.state == state.decl.name)
    };
    let message = program.chain.iter().filter(takes).find_map(|handler| handler.decl.takes())?;
    program.messages.get(&message.name)?.decl.key.name()
}
