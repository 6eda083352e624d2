//! A state's kind and the values of its arguments.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use super::duration::{self, DurationError};
use super::number::{self, NumberError};
use super::{fields, hook, key};
use crate::diag::{Code, Diagnostics, Place, codes};
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;
use crate::syntax::{BucketEnd, Capacity, KeyedArgs, RowForm, RowsArgs, StateDecl, StateKind};

/// Maximum number of entries of a table.
const MOST_ENTRIES: u64 = 1 << 26;

/// A state, recovered as far as possible.
#[derive(Clone, Debug)]
pub(crate) struct Recovered {
    /// The declaration; a faulty argument has a stand-in value.
    pub(crate) decl: StateDecl,
    /// Whether the item itself has no fault, so that its expansion compiles.
    pub(crate) item_sound: bool,
}

/// Checks a state; `None` after a fault.
pub(crate) fn run(shape: StateShape, diagnostics: &mut Diagnostics) -> Option<StateDecl> {
    let before = diagnostics.errors();
    let complete = shape.complete;
    let recovered = recover(shape, diagnostics);
    (complete && recovered.item_sound && diagnostics.errors() == before).then_some(recovered.decl)
}

/// The same, with a stand-in for every faulty argument.
pub(crate) fn recover(shape: StateShape, diagnostics: &mut Diagnostics) -> Recovered {
    let kind = kind(&shape, diagnostics);
    let kinds = kinds(&shape).count();
    fields::check_attributes(&shape.item, diagnostics);
    let before = diagnostics.errors();
    fields::check_item(&shape.item, diagnostics);
    fields::check_fields(&shape.item.fields, (kinds == 1).then_some(&kind), diagnostics);
    let ident = shape.item.ident.clone();
    Recovered {
        decl: StateDecl { name: ident.unraw().to_string(), ident, kind, item: shape.item },
        item_sound: diagnostics.errors() == before,
    }
}

/// The kind; exactly one is required.
fn kind(shape: &StateShape, diagnostics: &mut Diagnostics) -> StateKind {
    let mut kinds = kinds(shape);
    let first = kinds.next();
    for second in kinds {
        let (one, two) = (first.map_or("", |first| first.name.text()), second.name.text());
        diagnostics
            .error(
                codes::STATE_TWO_KINDS,
                second.ident.span(),
                format!("a state is of one kind, and this one is `{one}` and `{two}`"),
            )
            .help("keep the one that is meant; split the state when both are");
    }
    for argument in &shape.arguments {
        check_flag(argument, diagnostics);
        if argument.name == Name::Merged && first.is_none_or(|it| it.name != Name::Commutative) {
            not_merged(argument, first, diagnostics);
        }
    }
    let merged = shape.arguments.iter().any(|argument| argument.name == Name::Merged);
    let plain = match first.map(|argument| argument.name) {
        Some(Name::Singleton) => StateKind::Singleton {
            durable: shape.arguments.iter().any(|argument| argument.name == Name::Durable),
        },
        Some(Name::Per) => per_bucket(shape, first, diagnostics),
        Some(Name::Commutative) => StateKind::Commutative { merged },
        // The fault is told; nothing else would be meant.
        None if merged => StateKind::Commutative { merged },
        Some(Name::ReadMostly) => StateKind::ReadMostly,
        Some(Name::Map) => StateKind::Rows(rows(shape, RowForm::Map, diagnostics)),
        Some(Name::Prefixes) => StateKind::Rows(rows(shape, RowForm::Prefixes, diagnostics)),
        Some(Name::Acl) => StateKind::Rows(rows(shape, RowForm::Acl, diagnostics)),
        _ => return StateKind::Keyed(keyed(shape, diagnostics)),
    };
    let is_rows = matches!(plain, StateKind::Rows(_));
    for argument in &shape.arguments {
        let is_capacity = argument.name == Name::Capacity && !is_rows;
        if is_capacity
            || matches!(
                argument.name,
                Name::Within
                    | Name::Reply
                    | Name::Idle
                    | Name::IdleBy
                    | Name::AssuredBy
                    | Name::Recorded
                    | Name::OnExpire
                    | Name::From
                    | Name::Bucket
            )
        {
            let (name, kind) = (argument.name.text(), first.map_or("", |kind| kind.name.text()));
            let (why, help) = if is_rows {
                let why = format!(
                    "`{name}` is about entries that packets make, and the rows of `{kind}` are those of a file"
                );
                (why, format!("take `{name}` away"))
            } else {
                let why = format!("`{name}` is about entries, and a `{kind}` state has none");
                (why, format!("take `{name}` away, or give the state a `key`"))
            };
            diagnostics.error(codes::ARGUMENT_OF_KEYED, argument.ident.span(), why).help(help);
        }
        if argument.name == Name::Services
            && !matches!(&plain, StateKind::Rows(args) if args.form == RowForm::Map)
        {
            not_services(argument, diagnostics);
        }
        if argument.name == Name::Durable {
            not_durable(argument, &plain, diagnostics);
        }
    }
    plain
}

/// Reports that the rows of such a state are no services.
fn not_services(argument: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::BUCKET_OF_KEY,
            argument.ident.span(),
            "`services` is about the rows of a `map`: each is a service with its two ends",
        )
        .help("take `services` away, or write `#[state(map, key = …, services = Self::ends)]`");
}

/// Reports that a state of this kind can't be durable, with the reason and the remedy.
fn not_durable(argument: &Argument, kind: &StateKind, diagnostics: &mut Diagnostics) {
    let (name, why, instead) = match kind {
        StateKind::Keyed(_) | StateKind::Singleton { .. } | StateKind::PerBucket { .. } => return,
        StateKind::Commutative { .. } => (
            "commutative",
            "each side updates its own replica, and the updates in a copy are unknown: some would be lost, or \
             counted twice",
            "take `durable` away; to keep counts of flows over a crash, count in a state with a `key`",
        ),
        StateKind::ReadMostly | StateKind::Rows(_) => (
            match kind {
                StateKind::Rows(args) => args.form.argument(),
                _ => "read_mostly",
            },
            "it is made from its configuration, and every process that is started gets that",
            "take `durable` away: nothing is lost",
        ),
    };
    diagnostics
        .error(
            codes::DURABLE_KIND,
            argument.ident.span(),
            format!("`durable` is not supported on `{name}` states: {why}"),
        )
        .help(instead);
}

/// Reports that a state of this kind has no replicas to merge.
fn not_merged(argument: &Argument, kind: Option<&Argument>, diagnostics: &mut Diagnostics) {
    let Some(kind) = kind.map(|kind| kind.name.text()) else {
        diagnostics
            .error(
                codes::MERGED_KIND,
                argument.ident.span(),
                "`merged` is about replicas that the sides merge, and nothing says that there are any",
            )
            .help("write `#[state(commutative, merged)]`");
        return;
    };
    diagnostics
        .error(
            codes::MERGED_KIND,
            argument.ident.span(),
            format!(
                "`merged` is about replicas that the sides merge, and a state with `{kind}` has none"
            ),
        )
        .help("take `merged` away: handlers read such a state as it is");
}

/// The arguments that determine the kind. The `key` of a `map` does not.
fn kinds(shape: &StateShape) -> impl Iterator<Item = &Argument> {
    let is_map = shape.arguments.iter().any(|argument| argument.name == Name::Map);
    shape.arguments.iter().filter(move |argument| match argument.name {
        Name::Key => !is_map,
        Name::Singleton
        | Name::Per
        | Name::Commutative
        | Name::ReadMostly
        | Name::Map
        | Name::Prefixes
        | Name::Acl => true,
        _ => false,
    })
}

/// Checks arguments without a value.
fn check_flag(argument: &Argument, diagnostics: &mut Diagnostics) {
    if !argument.name.takes_value() && argument.value.is_some() {
        let name = argument.name.text();
        diagnostics
            .error(codes::ARGUMENT_VALUE, argument.place(), format!("`{name}` takes no value"))
            .help(format!("write `{name}` to say so, and nothing to say the opposite"));
    }
}

/// The arguments of a keyed state.
fn keyed(shape: &StateShape, diagnostics: &mut Diagnostics) -> KeyedArgs {
    let find = |name| shape.arguments.iter().find(|argument| argument.name == name);
    if let Some(services) = find(Name::Services) {
        not_services(services, diagnostics);
    }
    let key = find(Name::Key);
    let reply = find(Name::Reply);
    if key.is_none() && shape.complete {
        check_no_key(shape, reply, diagnostics);
    }
    let (ty, key_name) = key.and_then(|key| key_type(key, diagnostics)).unwrap_or_else(stand_in);
    let key_name_of = key_name.clone();
    if let (Some(reply), Some(why)) = (reply, key::no_reply(&key_name)) {
        diagnostics
            .error(
                codes::REPLY_OF_KEY,
                reply.ident.span(),
                format!("`reply` is not supported with `{key_name}`: {why}"),
            )
            .help(format!("take `reply` away, or use `key = FiveTuple` instead of `{key_name}`"));
    }
    let demand = shape.complete && key.is_some();
    let capacity = find(Name::Capacity);
    if capacity.is_none() && demand {
        diagnostics
            .error(
                codes::CAPACITY_MISSING,
                shape.place,
                "a keyed state says how many entries it may have at a time",
            )
            .help("add `capacity = 10_000`, or as many as there may be");
    }
    let idle = find(Name::Idle);
    if idle.is_none() && demand {
        diagnostics
            .error(
                codes::IDLE_MISSING,
                shape.place,
                "a keyed state says how long an entry lives unused",
            )
            .help("add `idle = \"5m\"`, or as long as a flow may be silent");
    }
    let within = find(Name::Within).and_then(|given| group_type(given, &key_name, diagnostics));
    let capacity = capacity.and_then(|given| entries(given, diagnostics));
    let idle_ns = idle.and_then(|given| lifetime(given, diagnostics));
    if let Some(hook) = find(Name::OnExpire) {
        hook::state(hook, idle.zip(idle_ns), find(Name::AssuredBy), diagnostics);
    }
    KeyedArgs {
        key: ty,
        key_name,
        within,
        reply: reply.is_some(),
        durable: find(Name::Durable).is_some(),
        recorded: find(Name::Recorded).is_some(),
        on_expire: find(Name::OnExpire).is_some(),
        capacity: capacity.unwrap_or(Capacity { number: 1, named: None }),
        idle_ns: idle_ns.unwrap_or(1),
        idle_by: find(Name::IdleBy)
            .and_then(|given| function(given, "idle(&self) -> Duration", diagnostics)),
        assured_by: find(Name::AssuredBy)
            .and_then(|given| function(given, "is_assured(&self) -> bool", diagnostics)),
        bucket: find(Name::Bucket)
            .and_then(|given| bucket_end(given, shape, &key_name_of, diagnostics)),
        from: find(Name::From).and_then(|given| before(given, find(Name::Durable), diagnostics)),
    }
}

/// `per`, which takes one word.
fn per_bucket(
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
fn bucket_end(
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

/// The arguments of a configured table.
fn rows(shape: &StateShape, form: RowForm, diagnostics: &mut Diagnostics) -> RowsArgs {
    let find = |name| shape.arguments.iter().find(|argument| argument.name == name);
    let key = find(Name::Key);
    if key.is_none() && form == RowForm::Map && shape.complete {
        diagnostics
            .error(
                codes::MAP_WITHOUT_KEY,
                find(Name::Map).map_or(shape.place, Argument::place),
                "a `map` has a row per key, and this one does not say of which key",
            )
            .help("add `key = SourceAddress`, `key = FiveTuple` or a key of your own");
    }
    let key = match (form, key) {
        (RowForm::Map, None) => Some(stand_in()),
        (RowForm::Map, Some(key)) => Some(key_type(key, diagnostics).unwrap_or_else(stand_in)),
        _ => None,
    };
    let capacity = find(Name::Capacity);
    if capacity.is_none() && shape.complete {
        diagnostics
            .error(
                codes::CAPACITY_MISSING,
                shape.place,
                "a configured table says how many rows its file may have",
            )
            .help("add `capacity = 10_000`, or as many as there may be");
    }
    let capacity = capacity.and_then(|given| entries(given, diagnostics));
    let services = find(Name::Services).filter(|_| form == RowForm::Map).and_then(|given| {
        let usual = "ends(key: &Service, row: &Self) -> [Endpoint; 2]";
        function(given, usual, diagnostics)
    });
    let capacity = capacity.unwrap_or(Capacity { number: 1, named: None });
    RowsArgs { form, key, services, capacity }
}

/// The state has no kind: either `reply` requires a key, or no argument determines the kind.
fn check_no_key(shape: &StateShape, reply: Option<&Argument>, diagnostics: &mut Diagnostics) {
    if let Some(reply) = reply {
        diagnostics
            .error(
                codes::REPLY_WITHOUT_KEY,
                reply.ident.span(),
                "`reply` says that the reply direction finds the entry too, but no `key` says how \
                 it is found at all",
            )
            .help("add `key = FiveTuple`");
        return;
    }
    diagnostics
        .error(
            codes::STATE_NO_KIND,
            shape.place,
            format!("`{}` has no kind of state", shape.item.ident),
        )
        .help(
            "say one of `key = …` (an entry per key), `singleton` (one value), `per = Bucket` \
             (a value per bucket), `commutative` (counters and sketches, a replica per side), `read_mostly` (settings), `map`, `prefixes`, \
             `acl` (rows of a file)",
        );
}

/// The group of `within`.
fn group_type(
    argument: &Argument,
    key: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(syn::Type, String)> {
    let (ty, name) = key_type(argument, diagnostics)?;
    if name == key {
        diagnostics
            .error(
                codes::WITHIN_ITSELF,
                argument.place(),
                format!("the entries of one `{name}` are within that `{name}` already"),
            )
            .help("take `within` away; name a coarser key there, such as a tenant's");
        return None;
    }
    Some((ty, name))
}

fn key_type(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<(syn::Type, String)> {
    let written = argument.value.clone().unwrap_or_default();
    if let Ok(ty) = syn::parse2::<syn::Type>(written.clone()) {
        return key::run(&ty, diagnostics).map(|name| (ty, name));
    }
    let name = argument.name.text();
    let help = match syn::parse2::<syn::LitStr>(written) {
        Ok(text) => format!("write `{name} = {}`, without quotes", text.value()),
        Err(_) if argument.name == Name::Within => {
            "write `within = Tenant`, a key of yours".to_owned()
        }
        Err(_) => "write `key = FiveTuple`".to_owned(),
    };
    wrong_value(argument, "a type", help, diagnostics);
    None
}

/// The stand-in for a faulty key, so that the item's other faults are reported too.
fn stand_in() -> (syn::Type, String) {
    let name = "FiveTuple";
    let tokens: TokenStream = quote!(::cora::__private::core::key::FiveTuple);
    (syn::Type::Verbatim(tokens), name.to_owned())
}

fn wrong_value(argument: &Argument, wants: &str, help: String, diagnostics: &mut Diagnostics) {
    let name = argument.name.text();
    diagnostics
        .error(codes::ARGUMENT_VALUE, argument.place(), format!("`{name}` takes {wants}"))
        .help(help);
}

/// `capacity`, if it is in range.
fn entries(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Capacity> {
    let written = argument.value.clone().unwrap_or_default();
    let expression = syn::parse2::<syn::Expr>(written.clone()).ok();
    let literal = syn::parse2::<syn::Lit>(written).ok();
    if expression.is_none() || literal.is_some_and(|literal| !matches!(literal, syn::Lit::Int(_))) {
        let help = "write `capacity = 10_000`, as a whole number without quotes".to_owned();
        wrong_value(argument, "a number", help, diagnostics);
        return None;
    }
    let expression = expression?;
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
fn function(argument: &Argument, usual: &str, diagnostics: &mut Diagnostics) -> Option<syn::Path> {
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
fn before(
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

/// `idle` in nanoseconds, if it is in range.
fn lifetime(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<u64> {
    let written = argument.value.clone().unwrap_or_default();
    let Ok(text) = syn::parse2::<syn::LitStr>(written.clone()) else {
        let number = syn::parse2::<syn::LitInt>(written).map(|number| number.to_string());
        let help = format!("write `idle = \"{}s\"`", number.as_deref().unwrap_or("300"));
        wrong_value(argument, "a duration in quotes", help, diagnostics);
        return None;
    };
    let mut refuse = |code: Code, message: String, help: &str| {
        diagnostics.error(code, argument.place(), message).help(help);
        None
    };
    let text = text.value();
    match duration::nanoseconds(&text) {
        Ok(0) => refuse(
            codes::IDLE_ZERO,
            "an entry that lives for no time is gone before the next packet".to_owned(),
            "say how long an entry lives unused: `\"5m\"`",
        ),
        Ok(time) if time <= duration::LONGEST => Some(time),
        Ok(_) | Err(DurationError::TooLong) => refuse(
            codes::IDLE_TOO_LONG,
            "an entry lives unused for a year at most".to_owned(),
            "say at most `\"365d\"`",
        ),
        Err(DurationError::Unreadable(meant)) => refuse(
            codes::IDLE_UNREADABLE,
            format!("`{text}` is not a readable duration"),
            &meant.map_or_else(
                || "write whole numbers with a unit: `\"30s\"`, `\"5m\"`, `\"1h30m\"`".to_owned(),
                |meant| format!("did you mean `\"{meant}\"`?"),
            ),
        ),
    }
}
