//! Possible fields of a state, as far as the source shows their types. The compiler judges types
//! with a user's own name: they implement `Plain`, or they don't.

use syn::{Fields, GenericParam, Generics, ItemStruct, Type};

use crate::diag::{Code, Diagnostics, Place, codes};
use crate::syntax::names::{last_segment, shown};
use crate::syntax::{StateKind, is_attribute};

/// Types that a field can't have, by their last path segment: code, names, fault, remedy.
type Refusal = (Code, &'static [&'static str], &'static str, &'static str);

const REFUSED: &[Refusal] = &[
    (
        codes::FIELD_HEAP,
        &[
            "Box",
            "Vec",
            "String",
            "Rc",
            "Arc",
            "HashMap",
            "HashSet",
            "BTreeMap",
            "BTreeSet",
            "VecDeque",
            "BinaryHeap",
            "LinkedList",
            "Cow",
            "CString",
            "OsString",
            "PathBuf",
        ],
        "lives on the heap, and entries are plain data of fixed width",
        "use an array of fixed length and a count, or a keyed state with an entry per item",
    ),
    (
        codes::FIELD_POINTER_SIZED,
        &["usize", "isize"],
        "is as wide as the machine's pointers, and entries cross between two machines",
        "use `u32` or `u64`, `i32` or `i64`",
    ),
    (
        codes::FIELD_FLOAT,
        &["f32", "f64"],
        "adds up differently in another order, and results must not depend on the plan",
        "count in whole units: nanoseconds, bytes, or a fixed-point `u64`",
    ),
    (
        codes::FIELD_OPTION,
        &["Option", "Result"],
        "has no encoding that both machines share",
        "use a flag beside the value, a value that means none, or an enum with `#[derive(Plain)]`",
    ),
    (
        codes::FIELD_TEXT,
        &["char", "str"],
        "is text for people, and entries hold data of packets",
        "use `u8` or `u32`, or an array of bytes of fixed length",
    ),
    (
        codes::FIELD_CELL,
        &[
            "Cell",
            "RefCell",
            "UnsafeCell",
            "OnceCell",
            "Mutex",
            "RwLock",
            "OnceLock",
            "AtomicBool",
            "AtomicU8",
            "AtomicU16",
            "AtomicU32",
            "AtomicU64",
            "AtomicUsize",
            "AtomicI8",
            "AtomicI16",
            "AtomicI32",
            "AtomicI64",
            "AtomicIsize",
            "AtomicPtr",
        ],
        "changes behind a shared reference, so its changes can't be rolled back",
        "use the plain value, and take the state as `&mut`",
    ),
    (
        codes::FIELD_TABLE,
        &["Table"],
        "is a state of its own",
        "take `&mut Table<S>` as a parameter of the handler",
    ),
];

/// Cora's replicated values: the fields of a commutative state.
const REPLICATED: [&str; 8] =
    ["Sum", "Max", "Sums", "Maxima", "CountMin", "TopK", "HeavyPrefixes", "Latest"];

/// Checks the shape of the item, apart from its fields' types.
pub(crate) fn check_item(item: &ItemStruct, diagnostics: &mut Diagnostics) {
    let generics = (codes::STATE_GENERIC, codes::STATE_LIFETIME);
    check_generics(&item.generics, "a state", generics, diagnostics);
    if !matches!(item.fields, Fields::Named(_)) {
        diagnostics
            .error(
                codes::STATE_UNNAMED_FIELDS,
                item.ident.span(),
                format!("the fields of `{}` have no names, and reports name them", item.ident),
            )
            .help(format!("write `struct {} {{ name: Type }}`", item.ident));
    }
}

/// Checks the attributes of the item. Generated code fits the item even after faults here.
pub(crate) fn check_attributes(item: &ItemStruct, diagnostics: &mut Diagnostics) {
    for attribute in &item.attrs {
        if is_attribute(attribute, "repr") {
            diagnostics
                .error(
                    codes::STATE_REPR,
                    Place::of(attribute),
                    "a state is written field by field: its layout in memory has no effect",
                )
                .help("take the attribute away");
        }
        if let Some(plain) = derives(attribute).into_iter().find(|path| ends(path, "Plain")) {
            diagnostics
                .error(codes::STATE_DERIVES_PLAIN, Place::of(&plain), "`#[state]` implies `Plain`")
                .help("take `Plain` out of the `derive`");
        }
    }
}

/// The paths in a `#[derive(…)]`; empty for another attribute.
pub(crate) fn derives(attribute: &syn::Attribute) -> Vec<syn::Path> {
    let list = syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
    if !is_attribute(attribute, "derive") {
        return Vec::new();
    }
    attribute.parse_args_with(list).map(|paths| paths.into_iter().collect()).unwrap_or_default()
}

/// Whether a path's last segment is this name.
pub(crate) fn ends(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// Refuses generic parameters: the first code for types and constants, the second for lifetimes.
pub(crate) fn check_generics(
    generics: &Generics,
    what: &str,
    (generic, lifetime): (Code, Code),
    diagnostics: &mut Diagnostics,
) {
    for parameter in &generics.params {
        let (code, message, help) = match parameter {
            GenericParam::Lifetime(_) => (
                lifetime,
                format!("{what} borrows nothing: it is plain data that moves between machines"),
                "keep the value itself",
            ),
            _ => (
                generic,
                format!("{what} is one type: generic items have no place in a plan"),
                "name the type or the number",
            ),
        };
        diagnostics.error(code, Place::of(parameter), message).help(help);
    }
    if let (true, Some(clause)) = (generics.params.is_empty(), &generics.where_clause) {
        diagnostics
            .error(generic, Place::of(clause), format!("{what} has no types to bound"))
            .help("take the `where` clause away");
    }
}

/// Checks the fields' types by the rules of the kind, or by those of every kind if the kind is
/// unknown.
pub(crate) fn check_fields(
    fields: &Fields,
    kind: Option<&StateKind>,
    diagnostics: &mut Diagnostics,
) {
    for field in fields {
        check_cfg(field, diagnostics);
        match kind {
            Some(StateKind::Commutative { .. }) => check_replicated(&field.ty, diagnostics),
            Some(_) => check_plain(&field.ty, diagnostics),
            None => {
                check_shape(&field.ty, diagnostics);
            }
        }
    }
}

/// Both sides need the same fields, so a field can't be conditional.
fn check_cfg(field: &syn::Field, diagnostics: &mut Diagnostics) {
    for attribute in &field.attrs {
        if is_attribute(attribute, "cfg") || is_attribute(attribute, "cfg_attr") {
            diagnostics
                .error(
                    codes::FIELD_CFG,
                    Place::of(attribute),
                    "both sides lay out a state alike, and they are compiled for different machines",
                )
                .help("take the attribute away: let the field be there always");
        }
    }
}

/// A field of a state that is not commutative.
pub(crate) fn check_plain(ty: &Type, diagnostics: &mut Diagnostics) {
    if check_shape(ty, diagnostics) {
        return;
    }
    if let Some(name) = last_segment(ty).filter(|name| REPLICATED.contains(&name.as_str())) {
        diagnostics
            .error(
                codes::FIELD_OF_COMMUTATIVE,
                Place::of(ty),
                format!("`{name}` is for states of which both sides hold a replica"),
            )
            .help("use an integer, or move the field to a `#[state(commutative)]`");
    }
}

/// A field of a commutative state.
fn check_replicated(ty: &Type, diagnostics: &mut Diagnostics) {
    if check_shape(ty, diagnostics) {
        return;
    }
    let mut element = ty;
    while let Type::Array(array) = element {
        element = &array.elem;
    }
    let Some(name) = last_segment(element) else { return };
    let shown = shown(ty);
    if matches!(ty, Type::Array(_)) && REPLICATED.contains(&name.as_str()) {
        diagnostics
            .error(
                codes::FIELD_NOT_COMMUTATIVE,
                Place::of(ty),
                format!("`{shown}` can't be undone in bounded time: an array of its own kind can"),
            )
            .help("use `Sums<N>` for an array of `Sum`, `Maxima<N>` for an array of `Max`");
    } else if is_number(&name) {
        diagnostics
            .error(
                codes::FIELD_NOT_COMMUTATIVE,
                Place::of(ty),
                format!(
                    "two replicas of `{shown}` can't be merged: nobody can tell which is right"
                ),
            )
            .help(
                "use `Sum` for totals, `Max` for the largest seen, `Sums<N>` and `Maxima<N>` for arrays of \
                 them, `CountMin` or `TopK` for a sketch, `Latest` for the last value of a key; or make the state a \
                 `singleton`",
            );
    }
}

fn is_number(name: &str) -> bool {
    name == "bool" || name.strip_prefix(['u', 'i']).is_some_and(|bits| bits.parse::<u8>().is_ok())
}

/// Refuses types that no kind of state may hold; returns whether it did. One message per field.
fn check_shape(ty: &Type, diagnostics: &mut Diagnostics) -> bool {
    let mut refuse = |code: Code, why: &str, help: &str| {
        let message = format!("`{}` {why}", shown(ty));
        diagnostics.error(code, Place::of(ty), message).label("not plain data").help(help);
        true
    };
    let address = "is an address, and that means nothing on the other machine";
    match ty {
        Type::Reference(_) => refuse(
            codes::FIELD_REFERENCE,
            address,
            "keep the value itself, or the key of the entry that it refers to",
        ),
        Type::Ptr(_) => refuse(
            codes::FIELD_RAW_POINTER,
            address,
            "keep the value itself, or the key of the entry that it points to",
        ),
        Type::FnPtr(_) => refuse(
            codes::FIELD_FN_POINTER,
            address,
            "keep an enum with `#[derive(Plain)]` and `match` on it",
        ),
        Type::TraitObject(_) | Type::ImplTrait(_) => refuse(
            codes::FIELD_DYN,
            "is known by its methods, not by its type, so it has no width",
            "keep an enum with `#[derive(Plain)]` and `match` on it",
        ),
        Type::Tuple(_) => refuse(
            codes::FIELD_TUPLE,
            "is a tuple, and reports show fields by name",
            "use a field for each part, or a struct with `#[derive(Plain)]`",
        ),
        Type::Slice(_) => refuse(
            codes::FIELD_HEAP,
            "has no fixed width",
            "use an array of fixed length and a count",
        ),
        Type::Array(array) => check_shape(&array.elem, diagnostics),
        Type::Paren(inner) => check_shape(&inner.elem, diagnostics),
        Type::Group(inner) => check_shape(&inner.elem, diagnostics),
        _ => {
            let Some(name) = last_segment(ty) else { return false };
            let found = REFUSED.iter().find(|entry| entry.1.contains(&name.as_str()));
            found.is_some_and(|(code, _, why, help)| refuse(*code, why, help))
        }
    }
}
