//! The arguments of a state about buckets: `per`, `bucket`, `services`.

use super::value::wrong_value;
use crate::diag::{Diagnostics, codes};
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;
use crate::syntax::{BucketEnd, StateKind};

/// `per`, which takes one word.
pub(super) fn per_bucket(
    shape: &StateShape,
    per: Option<&Argument>,
    diagnostics: &mut Diagnostics,
) -> StateKind {
    let value = per.and_then(|per| per.value.clone()).unwrap_or_default().to_string();
    if let Some(per) = per.filter(|_| value != "Bucket") {
        let help = "write `per = Bucket`: packets of one bucket share a value".to_owned();
        wrong_value(per, "the word `Bucket`", help, diagnostics);
    }
    StateKind::PerBucket {
        durable: shape.arguments.iter().any(|argument| argument.name == Name::Durable),
    }
}

/// The end in `bucket`: both directions of a connection have ports there.
pub(super) fn bucket_end(
    argument: &Argument,
    shape: &StateShape,
    key: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(BucketEnd, proc_macro2::Ident)> {
    let written = argument.value.clone().unwrap_or_default().to_string();
    let Some(end) = BucketEnd::ALL.into_iter().find(|end| end.word() == written) else {
        let help = "write `bucket = InsidePort` if connections are opened from inside, and \
                    `bucket = OutsidePort` if they are from outside";
        wrong_value(argument, "`InsidePort` or `OutsidePort`", help.to_owned(), diagnostics);
        return None;
    };
    let has = |name| shape.arguments.iter().any(|argument| argument.name == name);
    let (why, help) = if key != "FiveTuple" {
        (format!("a `{key}` has no ports"), "take `bucket` away, or use `key = FiveTuple`")
    } else if has(Name::Within) {
        ("`within` says already which packets share entries".to_owned(), "take one of the two away")
    } else if !has(Name::Reply) {
        (
            "only packets that reply need to come back to it".to_owned(),
            "add `reply`, or take `bucket` away",
        )
    } else {
        return Some((end, argument.ident.clone()));
    };
    diagnostics
        .error(
            codes::BUCKET_OF_KEY,
            argument.ident.span(),
            format!("`bucket` says which port decides where packets go, and {why}"),
        )
        .help(help);
    None
}

/// Reports that the rows of such a state are no services.
pub(super) fn not_services(argument: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::BUCKET_OF_KEY,
            argument.ident.span(),
            "`services` is about the rows of a `map`: each is a service with its two ends",
        )
        .help("take `services` away, or write `#[state(map, key = …, services = Self::ends)]`");
}
