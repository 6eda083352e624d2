//! The values of a state's arguments: numbers, durations, functions, types.

use super::number::{self, NumberError};
use crate::diag::{Code, Diagnostics, Place, codes};
use crate::syntax::Capacity;
use crate::syntax::arguments::Argument;

/// Maximum number of entries of a table.
const MOST_ENTRIES: u64 = 1 << 26;

/// Reports a value of the wrong form.
pub(super) fn wrong_value(
    argument: &Argument,
    wants: &str,
    help: String,
    diagnostics: &mut Diagnostics,
) {
    let name = argument.name.text();
    diagnostics
        .error(codes::ARGUMENT_VALUE, argument.place(), format!("`{name}` takes {wants}"))
        .help(help);
}

/// `capacity`, if it is in range.
pub(super) fn entries(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Capacity> {
    count(argument, in_range, diagnostics)
}

/// A number of things, if it is in this range, or names a constant.
pub(super) fn count(
    argument: &Argument,
    in_range: fn(Result<u64, NumberError>, Place, &mut Diagnostics) -> Option<u32>,
    diagnostics: &mut Diagnostics,
) -> Option<Capacity> {
    let written = argument.value.clone().unwrap_or_default();
    let literal = syn::parse2::<syn::Lit>(written.clone()).ok();
    let expression = syn::parse2::<syn::Expr>(written).ok();
    let is_text = literal.is_some_and(|literal| !matches!(literal, syn::Lit::Int(_)));
    let Some(expression) = expression.filter(|_| !is_text) else {
        let name = argument.name.text();
        let help = format!("write `{name} = 10_000`, as a whole number without quotes");
        wrong_value(argument, "a number", help, diagnostics);
        return None;
    };
    let found = number::evaluate(&expression, &mut |_| Err(NumberError::Named));
    if found == Err(NumberError::Named) {
        return Some(Capacity { number: 1, named: Some(expression) });
    }
    let number = in_range(found, argument.place(), diagnostics)?;
    Some(Capacity { number, named: None })
}

/// A capacity, if it is a number in range.
pub(crate) fn in_range(
    found: Result<u64, NumberError>,
    place: Place,
    diagnostics: &mut Diagnostics,
) -> Option<u32> {
    let mut refuse = |code: Code, message: &str, help: &str| {
        diagnostics.error(code, place, message).help(help);
        None
    };
    match found {
        Ok(0) => refuse(
            codes::CAPACITY_ZERO,
            "a table for 0 entries refuses every entry",
            "say how many entries there may be at a time",
        ),
        Ok(number) if number <= MOST_ENTRIES => u32::try_from(number).ok(),
        Ok(_) | Err(NumberError::OutOfRange) => refuse(
            codes::CAPACITY_TOO_LARGE,
            "a table holds from 1 to 2^26 entries",
            "say at most 67_108_864 (`1 << 26`); a shorter `idle` frees entries sooner",
        ),
        Err(NumberError::NotArithmetic | NumberError::Named) => refuse(
            codes::CAPACITY_NUMBER,
            "the plan needs this number before anything is compiled",
            "write numbers, constants of this package, and `+ - * / <<` between them: `65_536`, \
             `SESSIONS` or `1 << 16`",
        ),
    }
}

/// The function in `idle_by` or `assured_by`; `usual` is its typical declaration.
pub(super) fn function(
    argument: &Argument,
    usual: &str,
    diagnostics: &mut Diagnostics,
) -> Option<syn::Path> {
    let path = syn::parse2(argument.value.clone().unwrap_or_default()).ok();
    if path.is_none() {
        let (name, method) = (argument.name.text(), usual.split('(').next().unwrap_or(usual));
        let help =
            format!("write `{name} = Self::{method}`, with `fn {usual}` among the state's methods");
        wrong_value(argument, "the path of a function", help, diagnostics);
    }
    path
}

/// The type in `from`.
pub(super) fn before(
    argument: &Argument,
    durable: Option<&Argument>,
    diagnostics: &mut Diagnostics,
) -> Option<syn::Type> {
    if durable.is_none() {
        diagnostics
            .error(
                codes::ARGUMENT_OF_KEYED,
                argument.ident.span(),
                "`from` is about entries that outlive their program, and these are not `durable`",
            )
            .help("take `from` away, or add `durable`");
        return None;
    }
    let ty = syn::parse2(argument.value.clone().unwrap_or_default()).ok();
    if ty.is_none() {
        let help = "write `from = OldSession`, with `impl From<OldSession>` for the state";
        wrong_value(argument, "a type", help.to_owned(), diagnostics);
    }
    ty
}
