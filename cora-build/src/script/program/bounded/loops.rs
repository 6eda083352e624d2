//! Loops that may have no end.

use std::fmt;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, Item, RangeLimits};

/// Iterators of `core` without an end.
const ENDLESS: [&str; 5] = ["repeat", "repeat_with", "successors", "from_fn", "cycle"];
/// Methods that end such a one: with another iterator, or after a number.
const LIMITS: [&str; 2] = ["take", "zip"];

/// A loop that may have no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// `while` or `loop`.
    Loop(&'static str),
    /// An iterator without an end.
    Endless(String),
    /// The program's own iterator.
    Own,
}

impl Found {
    pub(super) const fn cure(&self) -> &'static str {
        match self {
            Self::Loop(_) => {
                "write `for _ in 0..MOST { … }` with the most rounds that it takes, and leave it \
                 with `break`"
            }
            Self::Endless(_) => "give it an end: `.take(MOST)`, or `.zip(…)` with what has one",
            Self::Own => "iterate over a slice, a range or what they make",
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(word) => write!(f, "nothing says how often this `{word}` goes round")?,
            Self::Endless(what) => write!(f, "`{what}` has no end")?,
            Self::Own => write!(f, "nothing says that this iterator has an end")?,
        }
        write!(f, ", and the program shares a process ({})", super::SAYS)
    }
}

/// The loops of an item, whose tokens these are, in order.
pub(super) fn run(item: &Item, tokens: &TokenStream) -> Vec<(Span, Found)> {
    let mut all: Vec<(Span, Found)> = Vec::new();
    keywords(tokens.clone(), &mut all);
    let mut loops = Loops { found: Vec::new() };
    loops.visit_item(item);
    all.extend(loops.found);
    all
}

/// `while` and `loop`, also in macros.
fn keywords(tokens: TokenStream, found: &mut Vec<(Span, Found)>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "while" => {
                found.push((ident.span(), Found::Loop("while")));
            }
            TokenTree::Ident(ident) if ident == "loop" => {
                found.push((ident.span(), Found::Loop("loop")));
            }
            TokenTree::Group(group) => keywords(group.stream(), found),
            _ => {}
        }
    }
}

struct Loops {
    found: Vec<(Span, Found)>,
}

impl Loops {
    /// An expression whose value is iterated over, or has a method called.
    fn iterates(&mut self, expr: &Expr) {
        match bare(expr) {
            Expr::Range(range) if range.end.is_none() => {
                let sign = match range.limits {
                    RangeLimits::HalfOpen(sign) => sign.span(),
                    RangeLimits::Closed(sign) => sign.span(),
                };
                self.found.push((sign, Found::Endless("..".to_owned())));
            }
            _ => {}
        }
    }

    fn names(&mut self, ident: &syn::Ident) {
        if ENDLESS.iter().any(|name| ident == name) {
            self.found.push((ident.span(), Found::Endless(ident.to_string())));
        }
    }
}

impl<'ast> Visit<'ast> for Loops {
    fn visit_expr_for_loop(&mut self, it: &'ast syn::ExprForLoop) {
        self.iterates(&it.expr);
        visit::visit_expr_for_loop(self, it);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if LIMITS.iter().any(|name| call.method == name) {
            // Of what is limited here, the parts alone can be without an end.
            self.limited(&call.receiver);
            call.args.iter().for_each(|argument| self.visit_expr(argument));
            return;
        }
        self.iterates(&call.receiver);
        self.names(&call.method);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(path) = bare(&call.func)
            && let Some(last) = path.path.segments.last()
        {
            self.names(&last.ident);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_item_impl(&mut self, it: &'ast syn::ItemImpl) {
        let name = it.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        if let Some(name) = name.filter(|name| name.ident == "Iterator") {
            self.found.push((name.ident.span(), Found::Own));
        }
        visit::visit_item_impl(self, it);
    }
}

impl Loops {
    /// An expression that has a limit.
    fn limited(&mut self, expr: &Expr) {
        match bare(expr) {
            Expr::Range(_) => visit::visit_expr(self, bare(expr)),
            Expr::MethodCall(call) if ENDLESS.iter().any(|name| call.method == name) => {
                self.visit_expr(&call.receiver);
                call.args.iter().for_each(|argument| self.visit_expr(argument));
            }
            Expr::Call(call) => call.args.iter().for_each(|argument| self.visit_expr(argument)),
            other => self.visit_expr(other),
        }
    }
}

/// An expression without parentheses.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        other => other,
    }
}
