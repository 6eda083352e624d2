//! A state's kind and the values of its arguments.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use super::bucket::{bucket_end, not_services, per_bucket};
use super::value::{before, entries, function, wrong_value};
use super::{fields, key, objects, region, times};
use crate::diag::{Diagnostics, codes};
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;
use crate::syntax::{Capacity, KeyedArgs, RowForm, RowsArgs, StateDecl, StateKind};

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
        Some(Name::Objects) => StateKind::Objects(objects::run(shape, diagnostics)),
        Some(Name::Region) => StateKind::Region { length: region::length(shape, diagnostics) },
        _ => return StateKind::Keyed(keyed(shape, diagnostics)),
    };
    arguments_of_kind(shape, first, &plain, diagnostics);
    plain
}

/// Checks the arguments of a state that is not keyed.
fn arguments_of_kind(
    shape: &StateShape,
    first: Option<&Argument>,
    kind: &StateKind,
    diagnostics: &mut Diagnostics,
) {
    let is_rows = matches!(kind, StateKind::Rows(_));
    let is_objects = matches!(kind, StateKind::Objects(_));
    for argument in &shape.arguments {
        let is_capacity = argument.name == Name::Capacity && !is_rows && !is_objects;
        let is_idle = argument.name == Name::Idle && !is_objects;
        if is_capacity
            || is_idle
            || matches!(
                argument.name,
                Name::Within
                    | Name::Reply
                    | Name::Life
                    | Name::IdleBy
                    | Name::AssuredBy
                    | Name::Recorded
                    | Name::OnExpire
                    | Name::From
                    | Name::Bucket
            )
        {
            let (name, said) = (argument.name.text(), first.map_or("", |kind| kind.name.text()));
            let (why, help) = if is_rows {
                let why = format!(
                    "`{name}` is about entries that packets make, and the rows of `{said}` are those of a file"
                );
                (why, format!("take `{name}` away"))
            } else if is_objects {
                let why = format!("`{name}` is about entries, and objects are found by their ids");
                (why, format!("take `{name}` away"))
            } else if matches!(kind, StateKind::Region { .. }) {
                let why = format!("`{name}` is about entries, and the items of a region stay");
                (why, format!("take `{name}` away"))
            } else {
                let why = format!("`{name}` is about entries, and a `{said}` state has none");
                (why, format!("take `{name}` away, or give the state a `key`"))
            };
            diagnostics.error(codes::ARGUMENT_OF_KEYED, argument.ident.span(), why).help(help);
        }
        if argument.name == Name::Services
            && !matches!(kind, StateKind::Rows(args) if args.form == RowForm::Map)
        {
            not_services(argument, diagnostics);
        }
        if argument.name == Name::Bytes && !is_objects {
            objects::not_bytes(argument, diagnostics);
        }
        if argument.name == Name::Length && !matches!(kind, StateKind::Region { .. }) {
            region::not_length(argument, diagnostics);
        }
        if argument.name == Name::Durable {
            not_durable(argument, kind, diagnostics);
        }
    }
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
        StateKind::Objects(_) => (
            "objects",
            "no copies of objects are kept, so those at a side that ends are lost",
            "take `durable` away; keep what must outlive a side in a state with a `key`",
        ),
        StateKind::Region { .. } => (
            "region",
            "no copy of its items is kept, so those at a side that ends are lost",
            "take `durable` away; keep what must outlive a side in a state with a `key`",
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

/// The arguments that determine the kind. The `key` of a `map` does not, and one of objects or
/// of a region is refused for itself.
fn kinds(shape: &StateShape) -> impl Iterator<Item = &Argument> {
    let has_kind =
        |argument: &Argument| matches!(argument.name, Name::Map | Name::Objects | Name::Region);
    let has_kind = shape.arguments.iter().any(has_kind);
    shape.arguments.iter().filter(move |argument| match argument.name {
        Name::Key => !has_kind,
        Name::Objects
        | Name::Region
        | Name::Singleton
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
    if let Some(bytes) = find(Name::Bytes) {
        objects::not_bytes(bytes, diagnostics);
    }
    if let Some(length) = find(Name::Length) {
        region::not_length(length, diagnostics);
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
    let (idle_ns, life_ns) = times::of(shape, diagnostics);
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
        life_ns,
        idle_by: find(Name::IdleBy)
            .and_then(|given| function(given, "idle(&self) -> Duration", diagnostics)),
        assured_by: find(Name::AssuredBy)
            .and_then(|given| function(given, "is_assured(&self) -> bool", diagnostics)),
        bucket: find(Name::Bucket)
            .and_then(|given| bucket_end(given, shape, &key_name_of, diagnostics)),
        from: find(Name::From).and_then(|given| before(given, find(Name::Durable), diagnostics)),
    }
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
             `acl` (rows of a file), `objects` (things of variable length), `region` (items by number)",
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
