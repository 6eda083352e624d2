//! Source as it is written.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::Expr;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

/// A name without its `r#`.
pub(super) fn name(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The name of a local variable that an expression is, through parentheses and references.
pub(super) fn variable(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident().map(name),
        Expr::Paren(inner) => variable(&inner.expr),
        Expr::Group(inner) => variable(&inner.expr),
        Expr::Reference(inner) => variable(&inner.expr),
        _ => None,
    }
}

/// The expression without `&`, `&mut` and parentheses around it.
pub(super) fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        Expr::Reference(inner) => bare(&inner.expr),
        other => other,
    }
}

/// The text of a piece of source, in one line.
pub(super) fn text(tokens: &impl ToTokens) -> String {
    let stream = tokens.to_token_stream();
    let written = span(tokens).source_text().unwrap_or_else(|| stream.to_string());
    written.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// From the first token to the last.
pub(super) fn span(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().span()
}
