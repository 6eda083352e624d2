//! Names of types and attributes, as a program writes them.

use quote::ToTokens as _;
use syn::Type;
use syn::ext::IdentExt as _;

/// The type of a packet's headers, in signatures.
pub(crate) const HEADERS: &str = "Headers";

/// The type as written, without the spaces of printed tokens.
pub(crate) fn shown(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    let mut shown = text.replace(" :: ", "::").replace(" < ", "<").replace(" >", ">");
    for (blank, plain) in [("& '", "&'"), ("& ", "&"), ("* ", "*"), (" ,", ","), ("> (", ">(")] {
        shown = shown.replace(blank, plain);
    }
    shown.replace("fn (", "fn(").replace(" ;", ";")
}

/// The name of a type that is a path.
pub(crate) fn last_segment(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => {
            path.path.segments.last().map(|segment| segment.ident.unraw().to_string())
        }
        Type::Paren(inner) => last_segment(&inner.elem),
        Type::Group(inner) => last_segment(&inner.elem),
        _ => None,
    }
}

/// Whether the attribute is Cora's attribute of this name, under any path.
pub fn is_attribute(attribute: &syn::Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// The last segment of a type's path with its arguments: `Bytes<23>`.
pub(crate) fn whole_segment(ty: &Type) -> Option<String> {
    match ty {
        Type::Paren(inner) => whole_segment(&inner.elem),
        Type::Group(inner) => whole_segment(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let arguments = last.arguments.to_token_stream().to_string().replace(' ', "");
            Some(format!("{}{arguments}", last.ident.unraw()))
        }
        _ => None,
    }
}
