//! Walks a body, and finds the places where a refusal escapes.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Item, Local, Stmt, Token};

use super::cause::Known;
use super::scope::{Held, Scope, name_of};
use super::{Callees, Cause, Escape, Why};
use crate::diag::Place;

/// A walk through one body.
pub(super) struct Walk<'a> {
    pub(super) callees: &'a dyn Callees,
    pub(super) known: &'a Known,
    pub(super) scope: Scope<'a>,
    pub(super) file: usize,
    pub(super) module: &'a [String],
    escapes: Vec<Escape>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        callees: &'a dyn Callees,
        known: &'a Known,
        scope: Scope<'a>,
        (file, module): (usize, &'a [String]),
    ) -> Self {
        Self { callees, known, scope, file, module, escapes: Vec::new() }
    }

    /// The escapes of a function's body.
    pub(super) fn body(mut self, block: &'a Block) -> Vec<Escape> {
        self.items(block);
        for statement in &block.stmts {
            self.visit_stmt(statement);
        }
        if let Some(Stmt::Expr(value, None)) = block.stmts.last() {
            self.leaves(value);
        }
        self.escapes
    }

    /// The escapes of a closure's expression body.
    pub(super) fn expression(mut self, value: &'a Expr) -> Vec<Escape> {
        self.visit_expr(value);
        self.leaves(value);
        self.escapes
    }

    /// Checks a value that leaves the body.
    fn leaves(&mut self, value: &'a Expr) {
        if let Some(cause) = self.cause(value) {
            self.escapes.push(Escape { place: Place::of(value), is_question: false, cause });
        }
    }

    /// Binds the functions of a block, which are visible from its start.
    pub(super) fn items(&mut self, block: &'a Block) {
        for statement in &block.stmts {
            if let Stmt::Item(Item::Fn(item)) = statement {
                self.scope.bind(&item.sig.ident, Held::Function(item));
            }
        }
    }

    /// Binds a declared variable.
    pub(super) fn declare(&mut self, local: &'a Local) {
        let held = match &local.init {
            Some(init) if init.diverge.is_none() => self.classified(&init.expr),
            _ => Held::Other,
        };
        self.scope.bind_pattern(&local.pat, held);
    }

    fn classified(&mut self, value: &'a Expr) -> Held<'a> {
        if let Some(held) = self.scope.held(value) {
            return held.clone();
        }
        match value {
            Expr::Closure(closure) => Held::Closure(closure),
            other => self.cause(other).map_or(Held::Other, Held::Refusal),
        }
    }

    /// Checks a macro's arguments if they parse as expressions, and otherwise its tokens.
    fn hidden(&mut self, tokens: &TokenStream) {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let found = match parser.parse2(tokens.clone()) {
            Ok(arguments) => {
                let scope = self.scope.clone();
                let at = (self.file, self.module);
                let walk = Walk::new(self.callees, self.known, scope, at);
                walk.arguments(arguments.iter())
            }
            Err(_) => self.questions(tokens),
        };
        self.escapes.extend(found);
    }

    fn arguments<'b>(mut self, arguments: impl Iterator<Item = &'b Expr>) -> Vec<Escape>
    where
        'b: 'a,
    {
        for argument in arguments {
            self.visit_expr(argument);
        }
        self.escapes
    }

    /// Every `?` in unparsed tokens that name the packet or a table.
    fn questions(&self, tokens: &TokenStream) -> Vec<Escape> {
        let (mut named, mut questions) = (None, Vec::new());
        let mut pending = vec![tokens.clone()];
        while let Some(tokens) = pending.pop() {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => pending.push(group.stream()),
                    TokenTree::Punct(punct) if punct.as_char() == '?' => {
                        questions.push(punct.span());
                    }
                    TokenTree::Ident(word) => {
                        let path = Expr::Path(syn::ExprPath {
                            attrs: Vec::new(),
                            qself: None,
                            path: word.clone().into(),
                        });
                        if let Some(Held::Packet | Held::Table) = self.scope.held(&path) {
                            named.get_or_insert(word);
                        }
                    }
                    _ => {}
                }
            }
        }
        let Some(word) = named else { return Vec::new() };
        let escape = |span: proc_macro2::Span| Escape {
            place: span.into(),
            is_question: true,
            cause: Cause {
                why: Why::Unseen(word.to_string()),
                span,
                file: self.file,
                through: None,
            },
        };
        questions.into_iter().map(escape).collect()
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        let depth = self.scope.depth();
        visit(self);
        self.scope.leave_to(depth);
    }
}

impl<'a> Visit<'a> for Walk<'a> {
    fn visit_block(&mut self, block: &'a Block) {
        self.scoped(|walk| {
            walk.items(block);
            visit::visit_block(walk, block);
        });
    }

    fn visit_local(&mut self, local: &'a Local) {
        visit::visit_local(self, local);
        self.declare(local);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        self.scoped(|walk| {
            walk.scope.bind_pattern(&arm.pat, Held::Other);
            visit::visit_arm(walk, arm);
        });
    }

    fn visit_expr_if(&mut self, branch: &'a syn::ExprIf) {
        self.scoped(|walk| visit::visit_expr_if(walk, branch));
    }

    fn visit_expr_while(&mut self, repeated: &'a syn::ExprWhile) {
        self.scoped(|walk| visit::visit_expr_while(walk, repeated));
    }

    fn visit_expr_for_loop(&mut self, repeated: &'a syn::ExprForLoop) {
        self.scoped(|walk| {
            walk.visit_expr(&repeated.expr);
            walk.scope.bind_pattern(&repeated.pat, Held::Other);
            walk.visit_block(&repeated.body);
        });
    }

    fn visit_expr_let(&mut self, bound: &'a syn::ExprLet) {
        visit::visit_expr_let(self, bound);
        self.scope.bind_pattern(&bound.pat, Held::Other);
    }

    fn visit_expr_assign(&mut self, assign: &'a syn::ExprAssign) {
        visit::visit_expr_assign(self, assign);
        if let Some(name) = name_of(&assign.left) {
            let held = self.classified(&assign.right);
            self.scope.assign(name, held);
        }
    }

    fn visit_expr_try(&mut self, tried: &'a syn::ExprTry) {
        visit::visit_expr_try(self, tried);
        if let Some(cause) = self.cause(&tried.expr) {
            let place = Place::of(&tried.question_token);
            self.escapes.push(Escape { place, is_question: true, cause });
        }
    }

    fn visit_expr_return(&mut self, left: &'a syn::ExprReturn) {
        visit::visit_expr_return(self, left);
        if let Some(value) = &left.expr {
            self.leaves(value);
        }
    }

    /// A closure's errors are its own; it is followed where it is called.
    fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {}

    fn visit_item(&mut self, _: &'a Item) {}

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        self.hidden(&called.tokens.to_token_stream());
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}
