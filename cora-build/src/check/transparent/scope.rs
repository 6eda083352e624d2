//! Values of names in a body, as far as refusals need them.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::visit::Visit;
use syn::{Expr, ExprClosure, ItemFn, Pat, UnOp};

use super::Cause;

/// The value of a name.
#[derive(Clone)]
pub(super) enum Held<'a> {
    /// The packet, or a reference to it.
    Packet,
    /// A table, or a reference to one.
    Table,
    /// A `Result` or `Option` that may be a refusal.
    Refusal(Cause),
    /// A closure.
    Closure(&'a ExprClosure),
    /// A function inside the body.
    Function(&'a ItemFn),
    /// Something else.
    Other,
}

/// Names in scope, the innermost last.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    names: Vec<(String, Held<'a>)>,
}

impl<'a> Scope<'a> {
    /// Binds a name.
    pub(super) fn bind(&mut self, name: &Ident, held: Held<'a>) {
        self.names.push((name.unraw().to_string(), held));
    }

    /// Binds the names of a pattern: to `held` if the pattern is one name, otherwise to unknown.
    pub(super) fn bind_pattern(&mut self, pattern: &Pat, held: Held<'a>) {
        match pattern {
            Pat::Ident(name) if name.subpat.is_none() => self.bind(&name.ident, held),
            Pat::Type(inner) => self.bind_pattern(&inner.pat, held),
            Pat::Paren(inner) => self.bind_pattern(&inner.pat, held),
            other => {
                let mut names = Names(Vec::new());
                names.visit_pat(other);
                for name in &names.0 {
                    self.bind(name, Held::Other);
                }
            }
        }
    }

    /// Assigns a new value to a name.
    pub(super) fn assign(&mut self, name: &Ident, held: Held<'a>) {
        let name = name.unraw().to_string();
        if let Some(bound) = self.names.iter_mut().rev().find(|(bound, _)| *bound == name) {
            bound.1 = held;
        }
    }

    /// The value of an expression that is a name, through references and parentheses.
    pub(super) fn held(&self, expression: &Expr) -> Option<&Held<'a>> {
        let name = name_of(expression)?.unraw().to_string();
        self.names.iter().rev().find(|(bound, _)| *bound == name).map(|(_, held)| held)
    }

    /// Number of names, to restore a scope.
    pub(super) fn depth(&self) -> usize {
        self.names.len()
    }

    /// Ends the scope that began at this depth.
    pub(super) fn leave_to(&mut self, depth: usize) {
        self.names.truncate(depth);
    }
}

/// The name in an expression: `packet`, `&mut *packet`.
pub(super) fn name_of(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Expr::Paren(inner) => name_of(&inner.expr),
        Expr::Group(inner) => name_of(&inner.expr),
        Expr::Reference(inner) => name_of(&inner.expr),
        Expr::Unary(inner) if matches!(inner.op, UnOp::Deref(_)) => name_of(&inner.expr),
        _ => None,
    }
}

struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        self.0.push(name.ident.clone());
        syn::visit::visit_pat_ident(self, name);
    }
}
