//! The rules of a timer (`#[every]`).

use proc_macro2::{Ident, TokenStream};
use syn::{FnArg, Signature, Type};

use super::duration::{self, DurationError};
use super::parameter;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::names::{last_segment, shown};

/// The shortest period (ns): the NIC tells the host its time ten times a second.
const SHORTEST: u64 = 100_000_000;

/// The period in the attribute (ns); `None` after a fault.
pub(super) fn period(
    args: &TokenStream,
    signature: &Signature,
    diagnostics: &mut Diagnostics,
) -> Option<u64> {
    let mut refuse = |place: Place, message: String, help: String| {
        diagnostics.error(codes::TIMER_PERIOD, place, message).help(help);
        None
    };
    let help = || "write `#[every(\"1s\")]`".to_owned();
    let place = if args.is_empty() { signature.ident.span().into() } else { Place::of(args) };
    let Ok(text) = syn::parse2::<syn::LitStr>(args.clone()) else {
        return refuse(place, "`#[every]` takes a duration in quotes".to_owned(), help());
    };
    let text = text.value();
    match duration::nanoseconds(&text) {
        Ok(period) if (SHORTEST..=duration::LONGEST).contains(&period) => Some(period),
        Ok(_) | Err(DurationError::TooLong) => refuse(
            place,
            "a timer runs ten times a second at most, and once a year at least".to_owned(),
            help(),
        ),
        Err(DurationError::Unreadable(meant)) => refuse(
            place,
            format!("`{text}` is not a readable duration"),
            meant.map_or_else(help, |meant| format!("did you mean `\"{meant}\"`?")),
        ),
    }
}

/// The name of the first parameter, the tick; `None` after a fault.
pub(super) fn tick(signature: &Signature, diagnostics: &mut Diagnostics) -> Option<Ident> {
    let (place, found) = match signature.inputs.first() {
        Some(FnArg::Typed(first)) => {
            if is_tick(&first.ty) {
                parameter::check_attributes(first, diagnostics);
                if let Type::Reference(reference) = &*first.ty {
                    parameter::check_lifetime(reference, diagnostics);
                }
                return parameter::name(first, diagnostics);
            }
            (Place::of(&first.ty), format!("`{}`", shown(&first.ty)))
        }
        Some(FnArg::Receiver(_)) => return None,
        None => (Place::from(signature.paren_token.span.join()), "nothing".to_owned()),
    };
    diagnostics
        .error(
            codes::TIMER_FIRST_PARAMETER,
            place,
            format!("a timer begins with the tick that it runs for, and this one with {found}"),
        )
        .help("begin its parameters with `tick: &Tick`");
    None
}

fn is_tick(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let is_named = last_segment(&reference.elem).is_some_and(|name| name == "Tick");
    reference.mutability.is_none() && is_named
}
