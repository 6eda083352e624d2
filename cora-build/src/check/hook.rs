//! The rules of a hook (`#[on_expire]`), and of the state whose entries it is about.

use proc_macro2::Ident;
use syn::{FnArg, GenericArgument, PathArguments, ReturnType, Signature, Type};

use super::parameter;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::arguments::Argument;
use crate::syntax::names::{last_segment, shown};
use crate::syntax::{Expires, Mark, Parameter, ParameterAccess};

/// The shortest idle time and life of entries with a hook (ns): `cora_core`'s `SHORTEST`.
const SHORTEST: u64 = 2_000_000_000;

/// Checks the arguments of a state with a hook; `times` are when its entries end.
pub(super) fn state(
    hook: &Argument,
    times: [Option<(&Argument, u64)>; 2],
    assured_by: Option<&Argument>,
    diagnostics: &mut Diagnostics,
) {
    for (time, _) in times.into_iter().flatten().filter(|(_, ns)| *ns < SHORTEST) {
        diagnostics
            .error(
                codes::HOOK_IDLE,
                time.place(),
                "entries with a hook live at least two seconds: a hook runs one second after its entry's end",
            )
            .help(format!("write `{} = \"2s\"` or more, or take `on_expire` away", time.name.text()));
    }
    if assured_by.is_some() {
        diagnostics
            .error(
                codes::HOOK_EVICTS,
                hook.ident.span(),
                "entries with a hook end when their time is over, and `assured_by` ends them before",
            )
            .help("take one of them away");
    }
}

/// The first parameter: its name, and the state in `&Ended<S>`; `None` after a fault.
pub(super) fn ended(
    signature: &Signature,
    diagnostics: &mut Diagnostics,
) -> Option<(Ident, Expires)> {
    let first = match signature.inputs.first() {
        Some(FnArg::Typed(first)) => first,
        Some(FnArg::Receiver(_)) => return None,
        None => {
            first_parameter(signature.paren_token.span.join().into(), "nothing", diagnostics);
            return None;
        }
    };
    parameter::check_attributes(first, diagnostics);
    let Some(expires) = ended_state(&first.ty) else {
        let found = format!("`{}`", shown(&first.ty));
        first_parameter(Place::of(&first.ty), &found, diagnostics);
        return None;
    };
    if let Type::Reference(reference) = &*first.ty {
        parameter::check_lifetime(reference, diagnostics);
    }
    Some((parameter::name(first, diagnostics)?, expires))
}

/// The state `S` of `&Ended<S>`.
fn ended_state(ty: &Type) -> Option<Expires> {
    let Type::Reference(reference) = ty else { return None };
    let Type::Path(path) = &*reference.elem else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(list) = &last.arguments else { return None };
    if reference.mutability.is_some() || last.ident != "Ended" || list.args.len() != 1 {
        return None;
    }
    let Some(GenericArgument::Type(state)) = list.args.first() else { return None };
    Some(Expires { state: last_segment(state)?, referent: state.clone() })
}

fn first_parameter(place: Place, found: &str, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::HOOK_FIRST_PARAMETER,
            place,
            format!("a hook begins with the entry that expired, and this one with {found}"),
        )
        .help("begin its parameters with `ended: &Ended<S>`, where `S` is a `#[state(key = …, on_expire)]`");
}

/// Checks that a hook or a timer takes no table.
pub(super) fn states(mark: Mark, parameters: &[Parameter], diagnostics: &mut Diagnostics) {
    let of_flows = |it: &&Parameter| {
        matches!(it.access, ParameterAccess::Table { .. } | ParameterAccess::Objects { .. })
    };
    for table in parameters.iter().filter(of_flows) {
        diagnostics
            .error(
                codes::HOOK_PARAMETER,
                table.ident.span(),
                format!(
                    "a {} runs without a packet, and the {} of `{}` may be at the other side",
                    mark.noun(),
                    match table.access {
                        ParameterAccess::Objects { .. } => "objects",
                        _ => "entries",
                    },
                    table.state
                ),
            )
            .help("take singletons, commutative states and configuration, and keep there what it needs");
    }
}

/// Checks that a hook or a timer returns nothing.
pub(super) fn returns(mark: Mark, signature: &Signature, diagnostics: &mut Diagnostics) {
    let ReturnType::Type(_, ty) = &signature.output else { return };
    diagnostics
        .error(
            codes::HOOK_RETURN,
            Place::of(ty),
            format!(
                "a {} returns nothing, and `{}` returns `{}`",
                mark.noun(),
                signature.ident,
                shown(ty)
            ),
        )
        .help("take the return type away: no packet waits for a verdict");
}
