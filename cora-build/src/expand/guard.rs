//! Guards: before its first use of a state, a body checks whether the state is in reach.
//!
//! 1. A block is walked statement by statement. A statement mentions a state if the parameter's
//!    name occurs in it outside of nested blocks, which are walked separately. Conditions,
//!    scrutinees, match guards, closures and macros belong to the statement.
//! 2. The guard is directly before the first statement of a block that mentions a state, unless an
//!    enclosing block has one already. So every mention is after a guard, and a path without the
//!    state has none.
//! 3. The body of a match arm and an `else if` are expressions; if they mention a state, they
//!    become blocks.
//! 4. After the guards, a statement that names a state gets a note, which is empty except in a
//!    traced run (`cora_core::trace`). Match guards have separate notes, since most are not
//!    reached. In a tracing build, tables record their own operations instead.
//! 5. After the guard of a state that is borrowed mutably as a whole, a note records its use. A
//!    durable singleton is then compared with its copy (`cora_core::state::kept`).
//!
//! Guards are resolved at compile time: if the state is in reach, the guard compiles to nothing;
//! otherwise the code after it does.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::token::Brace;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{Arm, Block, Expr, ExprBlock, Ident, Stmt};

use super::core;
use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

/// The name of a body's generic parameter, which programs would not use.
pub(super) fn reach() -> Ident {
    format_ident!("__CoraReach")
}

/// The name of a body's record of the states that it names.
pub(super) fn touched() -> Ident {
    format_ident!("__cora_touched")
}

/// The handler's body with its guards.
pub(super) fn run(decl: &HandlerDecl) -> Block {
    let mut block = (*decl.item.block).clone();
    if !decl.parameters.is_empty() {
        let names = decl.parameters.iter().map(|state| state.ident.unraw().to_string()).collect();
        let mut guards = Guards { parameters: &decl.parameters, names, guarded: BTreeSet::new() };
        guards.visit_block_mut(&mut block);
    }
    block
}

/// Whether the body may name its packet: as a word, or through a macro that builds names.
pub(super) fn names_packet(decl: &HandlerDecl) -> bool {
    let packet = [decl.packet.unraw().to_string()];
    let body = decl.item.block.to_token_stream();
    !mentions(&packet, |direct| direct.scan(&body)).is_empty() || calls_macro(body)
}

/// Whether a group follows a `!`: a macro's call, or a negated group, which counts as one.
fn calls_macro(tokens: TokenStream) -> bool {
    let mut bang = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => bang || calls_macro(group.stream()),
        other => {
            bang = matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '!');
            false
        }
    })
}

struct Guards<'a> {
    parameters: &'a [Parameter],
    names: Vec<String>,
    /// The states guarded by an enclosing block, or earlier in this one; by position.
    guarded: BTreeSet<usize>,
}

impl Guards<'_> {
    /// Guards for the mentioned states without one; from here on they are guarded.
    fn take(&mut self, mentioned: &BTreeSet<usize>) -> Vec<Stmt> {
        let fresh: Vec<usize> = mentioned.difference(&self.guarded).copied().collect();
        self.guarded.extend(&fresh);
        let guards = fresh.into_iter().filter_map(|at| Some((at, self.parameters.get(at)?)));
        guards
            .flat_map(|(at, state)| [Some(guard(at, state)), touch(at, state)])
            .flatten()
            .collect()
    }

    /// Notes of the mentioned states.
    fn notes(&self, mentioned: &BTreeSet<usize>) -> Vec<Stmt> {
        let is_table = |at: usize| {
            let access = self.parameters[at].access;
            matches!(
                access,
                ParameterAccess::Table { .. }
                    | ParameterAccess::Objects { .. }
                    | ParameterAccess::Region { .. }
            )
        };
        let notes = mentioned.iter().map(|at| if is_table(*at) { shows(*at) } else { names(*at) });
        notes.map(|note| Stmt::Expr(Expr::Verbatim(note), None)).collect()
    }

    /// An expression that may become a block: the body of a match arm, an `else if`.
    fn visit_expression(&mut self, expression: &mut Expr) {
        let outside = self.guarded.clone();
        let mentioned = mentions(&self.names, |direct| direct.visit_expr(expression));
        let named = mentions_outside_guards(&self.names, |direct| direct.visit_expr(expression));
        let guards = self.take(&mentioned);
        self.visit_expr_mut(expression);
        if !guards.is_empty() {
            let inner = std::mem::replace(expression, Expr::Verbatim(TokenStream::new()));
            let mut block = Block { brace_token: Brace::default(), stmts: guards };
            block.stmts.extend(self.notes(&named));
            block.stmts.push(Stmt::Expr(inner, None));
            *expression = Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block });
        }
        self.guarded = outside;
    }
}

impl VisitMut for Guards<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let outside = self.guarded.clone();
        for mut statement in std::mem::take(&mut block.stmts) {
            let mentioned = mentions(&self.names, |direct| direct.visit_stmt(&statement));
            let named =
                mentions_outside_guards(&self.names, |direct| direct.visit_stmt(&statement));
            block.stmts.extend(self.take(&mentioned));
            block.stmts.extend(self.notes(&named));
            self.visit_stmt_mut(&mut statement);
            block.stmts.push(statement);
        }
        self.guarded = outside;
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        self.visit_pat_mut(&mut arm.pat);
        self.visit_expression(&mut arm.body);
    }

    /// A match guard is a `bool` expression, so it can become a block.
    fn visit_pat_guard_mut(&mut self, pattern: &mut syn::PatGuard) {
        self.visit_pat_mut(&mut pattern.pat);
        let named = mentions(&self.names, |direct| direct.visit_expr(&pattern.guard));
        let notes = if has_note(pattern) { self.notes(&named) } else { Vec::new() };
        self.visit_expr_mut(&mut pattern.guard);
        if !notes.is_empty() {
            let inner = std::mem::replace(&mut *pattern.guard, Expr::Verbatim(TokenStream::new()));
            let mut block = Block { brace_token: Brace::default(), stmts: notes };
            block.stmts.push(Stmt::Expr(inner, None));
            *pattern.guard = Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block });
        }
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.visit_expr_mut(&mut branch.cond);
        self.visit_block_mut(&mut branch.then_branch);
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.visit_expression(otherwise);
        }
    }

    // A `return` in these leaves them, not the handler, so their mentions belong to the statement.
    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
    fn visit_expr_async_mut(&mut self, _: &mut syn::ExprAsync) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_expr_try_block_mut(&mut self, _: &mut syn::ExprTryBlock) {}
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// Punts `if` the state at this position is out of reach.
fn guard(position: usize, parameter: &Parameter) -> Stmt {
    let (core, reach, state) = (core(), reach(), &parameter.referent);
    let shows = shows(position);
    let out_of_reach = quote!(const { !#core::state::reaches::<#reach, #state>() });
    Stmt::Expr(
        Expr::Verbatim(quote! {
            if #out_of_reach {
                #shows
                return ::core::result::Result::Err(#core::verdict::Stop::punt());
            }
        }),
        None,
    )
}

/// Records that a possible durable singleton is about to be named, because it may change.
fn touch(position: usize, parameter: &Parameter) -> Option<Stmt> {
    let may_write = matches!(parameter.access, ParameterAccess::Unique);
    let (touched, state) = (touched(), &parameter.referent);
    let position = Literal::u8_unsuffixed(position as u8);
    let note = quote!(#touched.note::<#state>(#position););
    may_write.then(|| Stmt::Expr(Expr::Verbatim(note), None))
}

/// Notes that the state at this position is named here.
fn names(position: usize) -> TokenStream {
    // There are at most eight states.
    let (core, reach, position) = (core(), reach(), Literal::u8_unsuffixed(position as u8));
    quote!(#core::trace::names::<#reach>(#position);)
}

/// The same of a table, or of a state that is out of reach.
fn shows(position: usize) -> TokenStream {
    let (core, reach, position) = (core(), reach(), Literal::u8_unsuffixed(position as u8));
    quote!(#core::trace::shows::<#reach>(#position);)
}

/// The states, by position, that `walk` mentions outside of blocks with a separate walk.
fn mentions(names: &[String], walk: impl FnOnce(&mut Direct<'_>)) -> BTreeSet<usize> {
    let mut direct = Direct { names, found: BTreeSet::new(), whole: false, noted: true };
    walk(&mut direct);
    direct.found
}

/// The same, without mentions in match guards that have separate notes.
fn mentions_outside_guards(
    names: &[String],
    walk: impl FnOnce(&mut Direct<'_>),
) -> BTreeSet<usize> {
    let mut direct = Direct { names, found: BTreeSet::new(), whole: false, noted: false };
    walk(&mut direct);
    direct.found
}

/// Whether a match guard has separate notes: not if it binds names for the arm.
fn has_note(pattern: &syn::PatGuard) -> bool {
    struct Lets(bool);
    impl<'ast> Visit<'ast> for Lets {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut lets = Lets(false);
    lets.visit_expr(&pattern.guard);
    !lets.0
}

struct Direct<'a> {
    names: &'a [String],
    found: BTreeSet<usize>,
    /// Inside a closure or similar, blocks have no separate walk.
    whole: bool,
    /// Whether match guards with separate notes count, too.
    noted: bool,
}

impl Direct<'_> {
    fn word(&mut self, word: &str) {
        self.found.extend(self.names.iter().position(|name| name == word));
    }

    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.whole, true);
        walk(self);
        self.whole = outside;
    }

    /// The words of a macro, also in string literals, because a format string captures names.
    fn scan(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            match token {
                TokenTree::Group(group) => self.scan(&group.stream()),
                TokenTree::Ident(word) => self.word(&word.unraw().to_string()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    words.for_each(|word| self.word(word));
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Direct<'_> {
    fn visit_block(&mut self, block: &'ast Block) {
        if self.whole {
            visit::visit_block(self, block);
        }
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        self.visit_pat(&arm.pat);
        if self.whole {
            self.visit_expr(&arm.body);
        }
    }

    fn visit_pat_guard(&mut self, pattern: &'ast syn::PatGuard) {
        self.visit_pat(&pattern.pat);
        // Inside a closure, no match guard has a separate walk.
        if self.noted || self.whole || !has_note(pattern) {
            self.visit_expr(&pattern.guard);
        }
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.visit_expr(&branch.cond);
        if self.whole {
            visit::visit_expr_if(self, branch);
        }
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some(word) = path.path.get_ident() {
            self.word(&word.unraw().to_string());
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.scan(&mac.tokens);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Verbatim(tokens) => self.scan(tokens),
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_expr_closure(&mut self, inner: &'ast syn::ExprClosure) {
        self.within(|this| visit::visit_expr_closure(this, inner));
    }

    fn visit_expr_async(&mut self, inner: &'ast syn::ExprAsync) {
        self.within(|this| visit::visit_expr_async(this, inner));
    }

    fn visit_expr_const(&mut self, inner: &'ast syn::ExprConst) {
        self.within(|this| visit::visit_expr_const(this, inner));
    }

    fn visit_expr_try_block(&mut self, inner: &'ast syn::ExprTryBlock) {
        self.within(|this| visit::visit_expr_try_block(this, inner));
    }

    /// Items capture nothing from the surrounding body.
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
