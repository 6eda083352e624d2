//! Common properties of item kinds that [`syn`] separates.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Attribute, Item, Visibility};

use super::{Annotation, scan};
use crate::syntax::{Mark, is_attribute};

/// Names of types with interior mutability.
const CHANGING: [&str; 12] = [
    "Cell",
    "RefCell",
    "UnsafeCell",
    "OnceCell",
    "LazyCell",
    "Mutex",
    "RwLock",
    "OnceLock",
    "LazyLock",
    "Once",
    "SyncUnsafeCell",
    "AtomicPtr",
];

/// The annotation of an item, if it has one.
pub(super) fn annotated(item: &Item) -> Option<(Annotation, &Attribute)> {
    attributes(item).iter().find_map(|attribute| {
        let mark = || Mark::ALL.into_iter().find(|mark| is_attribute(attribute, mark.attribute()));
        let annotation = if is_attribute(attribute, "state") {
            Annotation::State
        } else if is_attribute(attribute, "message") {
            Annotation::Message
        } else {
            Annotation::Function(mark()?)
        };
        Some((annotation, attribute))
    })
}

/// The reason that a static can change; `None` if it can't.
pub(super) fn changes(item: &syn::ItemStatic) -> Option<&'static str> {
    if !matches!(item.mutability, syn::StaticMutability::None) {
        return Some("it is `static mut`");
    }
    let words = scan::mentions(&item.ty.to_token_stream());
    words
        .iter()
        .any(|(word, _)| CHANGING.contains(&word.as_str()) || word.starts_with("Atomic"))
        .then_some("its type can change behind a shared reference")
}

/// Its attributes.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Its visibility, if that matters.
pub(super) fn visibility(item: &Item) -> Option<&Visibility> {
    match item {
        Item::Fn(item) => Some(&item.vis),
        // The root never names a state: it finds the type through the handler.
        _ => None,
    }
}

/// Whether it is `pub`, if Cora lets other crates use it.
pub(super) fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Fn(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}

/// Its name.
pub(super) fn name(item: &Item) -> String {
    match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => "the item".to_owned(),
    }
}

/// The contents of an item without its own attributes.
pub(super) fn body(item: &Item) -> TokenStream {
    match item {
        Item::Fn(item) => item.block.to_token_stream(),
        Item::Impl(item) => item.items.iter().map(quote::ToTokens::to_token_stream).collect(),
        Item::Trait(item) => item.items.iter().map(quote::ToTokens::to_token_stream).collect(),
        Item::Const(item) => item.expr.to_token_stream(),
        Item::Static(item) => item.expr.to_token_stream(),
        _ => TokenStream::new(),
    }
}

/// Whether it is the path of the macro that makes a program of handlers.
pub fn is_app(path: &syn::Path) -> bool {
    let words: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
    words == ["app"] || words == ["cora", "app"]
}
