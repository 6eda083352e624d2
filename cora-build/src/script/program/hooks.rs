//! Checks that each state with `on_expire` has one hook, and each hook such a state.

use std::collections::BTreeMap;

use super::{Handler, Parts, State, path};
use crate::analyse::library_of;
use crate::diag::Place;
use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::syntax::arguments::nearest;
use crate::syntax::{KeyedArgs, ParameterAccess, StateKind};

pub(super) fn run(parts: &Parts, findings: &mut Findings) {
    let mut first: BTreeMap<&str, &Handler> = BTreeMap::new();
    for hook in &parts.timed {
        visible(hook, findings);
        let Some(expires) = hook.decl.expires() else { continue };
        if let Some(other) = first.get(expires.state.as_str()) {
            twice(hook, other, &expires.state, findings);
            continue;
        }
        first.insert(&expires.state, hook);
        let state = parts.states.iter().find(|state| state.decl.name == expires.state);
        let keyed = state.and_then(|state| Some((state, keyed(state)?)));
        match keyed {
            Some((_, args)) if args.on_expire => durable(hook, args, parts, findings),
            _ => undeclared(hook, state, parts, findings),
        }
    }
    for state in &parts.states {
        let is_hooked = keyed(state).is_some_and(|args| args.on_expire);
        if is_hooked && !first.contains_key(state.decl.name.as_str()) {
            missing(state, findings);
        }
    }
}

const fn keyed(state: &State) -> Option<&KeyedArgs> {
    match &state.decl.kind {
        StateKind::Keyed(args) => Some(args),
        _ => None,
    }
}

fn twice(hook: &Handler, other: &Handler, state: &str, findings: &mut Findings) {
    findings
        .at(hook.file)
        .error(
            codes::HOOK_TWICE,
            hook.decl.ident.span(),
            format!("a second hook for the entries of `{state}`"),
        )
        .help(format!(
            "the first is `{}`: do both in one function",
            path(&other.module, &other.decl.name)
        ));
}

/// Whether entries may hold a part of such a state.
const fn is_held(kind: &StateKind) -> bool {
    matches!(kind, StateKind::Singleton { .. } | StateKind::PerBucket { .. })
}

/// The generated file names hooks and timers, as it names handlers.
fn visible(hook: &Handler, findings: &mut Findings) {
    let Some(hidden) = &hook.hidden else { return };
    let who = match library_of(&hook.module) {
        Some(_) => "another crate",
        None => "the root of the crate",
    };
    findings
        .at(hook.file)
        .error(
            codes::HANDLER_HIDDEN,
            hook.decl.ident.span(),
            format!("{who} can't name the {} `{}`", hook.decl.mark().noun(), hook.decl.name),
        )
        .help(format!("write `pub {hidden}` where it is declared"));
}

fn undeclared(hook: &Handler, state: Option<&State>, parts: &Parts, findings: &mut Findings) {
    let Some(expires) = hook.decl.expires() else { return };
    let place = Place::of(&expires.referent);
    let name = &expires.state;
    if let Some(state) = state {
        let (message, help) = if keyed(state).is_some() {
            (
                format!(
                    "`{name}` does not say `on_expire`, so it keeps no expired entry for `{}`",
                    hook.decl.name
                ),
                format!("add `on_expire` to the `#[state(…)]` of `{name}`"),
            )
        } else {
            (
                format!("`{name}` has no entries that could expire"),
                "name a state with a `key` there".to_owned(),
            )
        };
        findings.at(hook.file).error(codes::HOOK_UNDECLARED, place, message).help(help);
        return;
    }
    let names = parts.states.iter().map(|state| state.decl.name.as_str());
    let help = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("put `#[state(key = …, on_expire)]` on the type `{name}`"),
    };
    findings
        .at(hook.file)
        .error(codes::STATE_NOT_DECLARED, place, format!("the program declares no state `{name}`"))
        .help(help);
}

/// A hook gives back to a singleton what an entry held: so the entry may not be lost.
fn durable(hook: &Handler, args: &KeyedArgs, parts: &Parts, findings: &mut Findings) {
    if args.durable {
        return;
    }
    let changed = hook.decl.parameters.iter().find(|parameter| {
        let state = parts.states.iter().find(|state| state.decl.name == parameter.state);
        parameter.access == ParameterAccess::Unique
            && state.is_some_and(|state| is_held(&state.decl.kind))
    });
    let (Some(changed), Some(expires)) = (changed, hook.decl.expires()) else { return };
    findings
        .at(hook.file)
        .error(
            codes::HOOK_NOT_DURABLE,
            changed.ident.span(),
            format!(
                "`{}` changes the singleton `{}`, and the entries of `{}` are not durable",
                hook.decl.name, changed.state, expires.state
            ),
        )
        .label("what a lost entry holds of it would never come back")
        .help(format!("add `durable` to the `#[state(…)]` of `{}`", expires.state));
}

fn missing(state: &State, findings: &mut Findings) {
    let name = &state.decl.name;
    findings
        .at(state.file)
        .error(
            codes::HOOK_MISSING,
            state.decl.ident.span(),
            format!("`{name}` says `on_expire`, and no function has `#[on_expire]` for it"),
        )
        .help(format!(
            "write `#[on_expire] fn name(ended: &Ended<{name}>, …) {{ … }}`, or take `on_expire` away"
        ));
}
