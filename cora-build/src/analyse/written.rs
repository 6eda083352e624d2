//! Source as written.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::Expr;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

/// A name without its `r#`.
pub(super) fn name(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The name of an expression that is a local variable, through parentheses and references.
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
    let written = stream.span().source_text().unwrap_or_else(|| stream.to_string());
    written.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The start of an expression.
pub(super) fn begin(expression: &Expr) -> Span {
    match expression {
        Expr::Path(path) if path.qself.is_none() && path.attrs.is_empty() => {
            path.path.segments.first().map_or_else(|| expression.span(), |it| it.ident.span())
        }
        Expr::Reference(reference) if reference.attrs.is_empty() => reference.and_token.span,
        Expr::Lit(literal) if literal.attrs.is_empty() => literal.lit.span(),
        // The first token of other expressions, if that is cheap: converting an expression to
        // tokens is not.
        Expr::MethodCall(call) => begin(&call.receiver),
        Expr::Field(field) => begin(&field.base),
        Expr::Index(index) => begin(&index.expr),
        Expr::Call(call) => begin(&call.func),
        Expr::Try(tried) => begin(&tried.expr),
        Expr::Binary(binary) => begin(&binary.left),
        Expr::Assign(assign) => begin(&assign.left),
        Expr::Cast(cast) => begin(&cast.expr),
        Expr::Paren(inner) => inner.paren_token.span.open(),
        other => first_token(other),
    }
}

/// The place of the first of these tokens.
pub(super) fn first_token(tokens: &impl ToTokens) -> Span {
    let first = tokens.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}

/// The attributes of an expression statement. The parser attaches them to its first subexpression.
pub(super) fn attributes(expression: &Expr) -> &[syn::Attribute] {
    match expression {
        Expr::Assign(it) => attributes(&it.left),
        Expr::Binary(it) => attributes(&it.left),
        Expr::Block(it) => &it.attrs,
        Expr::Break(it) => &it.attrs,
        Expr::Call(it) => &it.attrs,
        Expr::Continue(it) => &it.attrs,
        Expr::Field(it) => &it.attrs,
        Expr::ForLoop(it) => &it.attrs,
        Expr::If(it) => &it.attrs,
        Expr::Index(it) => &it.attrs,
        Expr::Loop(it) => &it.attrs,
        Expr::Macro(it) => &it.attrs,
        Expr::Match(it) => &it.attrs,
        Expr::MethodCall(it) => &it.attrs,
        Expr::Path(it) => &it.attrs,
        Expr::Return(it) => &it.attrs,
        Expr::Try(it) => &it.attrs,
        Expr::Unary(it) => &it.attrs,
        Expr::While(it) => &it.attrs,
        _ => &[],
    }
}
