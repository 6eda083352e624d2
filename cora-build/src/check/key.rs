//! The key of a keyed state, as far as the source shows its type. The compiler checks whether it
//! implements `Key`.

use syn::Type;
use syn::ext::IdentExt as _;

use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::names::whole_segment;

/// Cora's keys without a separate key for the reply direction.
const WITHOUT_REPLY: [(&str, &str); 3] = [
    ("SourceAddress", "from a source address alone, the reply direction's key can't be told"),
    (
        "DestinationAddress",
        "from a destination address alone, the reply direction's key can't be told",
    ),
    ("InsideAddress", "both directions of a flow carry the same `InsideAddress` already"),
];

/// Types that users might try, but that neither a packet nor a message carries as a key.
const NO_KEYS: [&str; 15] = [
    "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "bool", "char", "String",
    "str", "Vec", "Packet",
];

/// A generic key: text of so many bytes at most.
const TEXT: &str = "Bytes";

/// The key's last path segment; `None` if the type can't be a key.
pub(super) fn run(ty: &Type, diagnostics: &mut Diagnostics) -> Option<String> {
    let mut refuse = |why: &str| {
        diagnostics
            .error(codes::KEY_TYPE, Place::of(ty), format!("a key is not {why}"))
            .label("not a key")
            .help(
                "use `FiveTuple`, `SourceAddress`, `DestinationAddress`, `InsideAddress` or `MacPair`, \
                 or a type of yours that implements `Key`; messages also carry `u32`, `u64`, `Bytes<N>` and `One`",
            );
        None
    };
    match ty {
        Type::Paren(inner) => run(&inner.elem, diagnostics),
        Type::Group(inner) => run(&inner.elem, diagnostics),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let name = last.ident.unraw().to_string();
            if NO_KEYS.contains(&name.as_str()) {
                return refuse(&format!(
                    "`{name}`: a packet doesn't say which of its values is meant"
                ));
            }
            let is_generic = !last.arguments.is_none() && name != TEXT;
            if is_generic || path.qself.is_some() {
                return refuse("generic: it is one type, named by its path");
            }
            whole_segment(ty)
        }
        Type::Reference(_) | Type::Ptr(_) => refuse("a reference: it crosses between two machines"),
        Type::Tuple(_) => refuse("a tuple: no packet says how to fill it"),
        Type::Array(_) | Type::Slice(_) => {
            refuse("an array or slice: no packet says how to fill it")
        }
        _ => refuse("of this sort: it is a type with a name"),
    }
}

/// The reason that `reply` can't be combined with this key.
pub(super) fn no_reply(key: &str) -> Option<&'static str> {
    WITHOUT_REPLY.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
}
