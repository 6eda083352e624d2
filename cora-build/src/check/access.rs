//! What a handler does to each of its states, as far as the source shows it.
//!
//! Methods of `Table` are known by name. Whatever can't be seen (a state handed whole to a function, a
//! state inside a macro, a method of the user's own) counts as all that the borrow allows, and is
//! told with its place; it is never guessed.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprMethodCall};

use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

/// What a handler does to one state.
#[derive(Clone, Debug)]
pub struct Access {
    /// What the handler calls the state.
    pub parameter: String,
    /// It looks.
    pub reads: bool,
    /// It changes something.
    pub writes: bool,
    /// It may put an entry in.
    pub inserts: bool,
    /// It may take an entry out.
    pub removes: bool,
    /// Where it does what can't be seen, and why not.
    pub opaque: Vec<(Span, String)>,
}

impl Access {
    fn none(parameter: &Parameter) -> Self {
        Self {
            parameter: parameter.ident.unraw().to_string(),
            reads: false,
            writes: false,
            inserts: false,
            removes: false,
            opaque: Vec::new(),
        }
    }

    /// All that the borrow allows.
    fn everything(&mut self, access: ParameterAccess) {
        let table = matches!(access, ParameterAccess::Table { mutable: true });
        self.reads = true;
        self.writes |= table || access == ParameterAccess::Unique;
        self.inserts |= table;
        self.removes |= table;
    }
}

/// What the handler does to each of its states, in the order of its parameters.
pub fn accesses(handler: &HandlerDecl) -> Vec<Access> {
    let found = handler.parameters.iter().map(Access::none).collect();
    let mut reader = Accesses { parameters: &handler.parameters, found };
    reader.visit_block(&handler.item.block);
    reader.found
}

struct Accesses<'a> {
    parameters: &'a [Parameter],
    found: Vec<Access>,
}

/// Methods of Cora's replicated values that update.
const UPDATES: [&str; 5] = ["add", "raise", "count", "observe", "increment"];

impl Accesses<'_> {
    /// The parameter that an expression names, through parentheses, `&`, `&mut` and `*`.
    fn named(&self, expression: &Expr) -> Option<usize> {
        match expression {
            Expr::Path(path) => {
                let word = path.path.get_ident()?.unraw().to_string();
                self.found.iter().position(|access| access.parameter == word)
            }
            Expr::Paren(inner) => self.named(&inner.expr),
            Expr::Group(inner) => self.named(&inner.expr),
            Expr::Reference(inner) => self.named(&inner.expr),
            Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => {
                self.named(&inner.expr)
            }
            _ => None,
        }
    }

    /// The parameter that a place is part of: `ports.free[3]` is part of `ports`.
    fn part_of(&self, expression: &Expr) -> Option<usize> {
        match expression {
            Expr::Field(field) => self.named(&field.base).or_else(|| self.part_of(&field.base)),
            Expr::Index(index) => self.named(&index.expr).or_else(|| self.part_of(&index.expr)),
            Expr::Paren(inner) => self.part_of(&inner.expr),
            Expr::Group(inner) => self.part_of(&inner.expr),
            _ => None,
        }
    }

    fn opaque(&mut self, state: usize, span: Span, why: &str) {
        self.found[state].everything(self.parameters[state].access);
        self.found[state].opaque.push((span, why.to_owned()));
    }

    /// A method of a table; whether it is one that is known.
    fn table_method(&mut self, state: usize, method: &str) -> bool {
        let access = &mut self.found[state];
        match method {
            "get" | "contains" | "len" => access.reads = true,
            "get_mut" | "find_mut" => {
                access.reads = true;
                access.writes = true;
            }
            "insert" | "insert_with_reply" => {
                access.writes = true;
                access.inserts = true;
            }
            "remove" => {
                access.writes = true;
                access.removes = true;
            }
            _ => return false,
        }
        true
    }

    fn method(&mut self, state: usize, call: &ExprMethodCall) {
        let method = call.method.unraw().to_string();
        let access = self.parameters[state].access;
        let known = match access {
            ParameterAccess::Table { .. } => self.table_method(state, &method),
            ParameterAccess::Shared => {
                self.found[state].reads = true;
                true
            }
            ParameterAccess::Unique => false,
        };
        if !known {
            let why = format!("what `{method}` does to the state can't be seen from here");
            self.opaque(state, call.method.span(), &why);
        }
    }

    /// A method of a part of a state.
    fn method_of_part(&mut self, state: usize, call: &ExprMethodCall) {
        let method = call.method.unraw().to_string();
        let access = &mut self.found[state];
        match self.parameters[state].access {
            ParameterAccess::Unique if UPDATES.contains(&method.as_str()) => access.writes = true,
            borrow => access.everything(borrow),
        }
    }

    /// A place that is assigned to.
    fn assigned(&mut self, place: &Expr, reads: bool) {
        if let Some(state) = self.named(place).or_else(|| self.part_of(place)) {
            self.found[state].writes = true;
            self.found[state].reads |= reads;
            self.visit_indices(place);
        } else {
            self.visit_expr(place);
        }
    }

    /// What stands in the brackets of a place.
    fn visit_indices(&mut self, place: &Expr) {
        match place {
            Expr::Index(index) => {
                self.visit_expr(&index.index);
                self.visit_indices(&index.expr);
            }
            Expr::Field(field) => self.visit_indices(&field.base),
            Expr::Paren(inner) => self.visit_indices(&inner.expr),
            _ => {}
        }
    }

    fn scan(&mut self, tokens: &TokenStream, name: &str) {
        for token in tokens.clone() {
            match token {
                TokenTree::Group(group) => self.scan(&group.stream(), name),
                TokenTree::Ident(word) => self.word(&word.unraw().to_string(), word.span(), name),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
                        self.word(word, literal.span(), name);
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn word(&mut self, word: &str, span: Span, name: &str) {
        if let Some(state) = self.found.iter().position(|access| access.parameter == word) {
            let why = format!("what `{name}!` does with the state can't be seen from here");
            self.opaque(state, span, &why);
        }
    }
}

impl<'ast> Visit<'ast> for Accesses<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if let Some(state) = self.named(&call.receiver) {
            self.method(state, call);
        } else if let Some(state) = self.part_of(&call.receiver) {
            self.method_of_part(state, call);
            self.visit_indices(&call.receiver);
        } else {
            self.visit_expr(&call.receiver);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.visit_expr(&assign.right);
        self.assigned(&assign.left, false);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        self.visit_expr(&binary.right);
        if is_compound(&binary.op) {
            self.assigned(&binary.left, true);
        } else {
            self.visit_expr(&binary.left);
        }
    }

    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        match self.part_of(&reference.expr) {
            Some(state) if reference.mutability.is_some() => {
                self.opaque(state, reference.span(), "a part of the state is lent to be changed");
                self.visit_indices(&reference.expr);
            }
            _ => visit::visit_expr_reference(self, reference),
        }
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        self.read_part(&Expr::Field(field.clone()), |this| visit::visit_expr_field(this, field));
    }

    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        self.read_part(&Expr::Index(index.clone()), |this| visit::visit_expr_index(this, index));
    }

    /// A state's name that stands for itself: it goes somewhere as a whole.
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some(state) = self.named(&Expr::Path(path.clone())) {
            let why =
                "the state is handed on as a whole, and what becomes of it can't be seen from here";
            self.opaque(state, path.span(), why);
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let name = mac.path.segments.last().map(|segment| segment.ident.to_string());
        self.scan(&mac.tokens, &name.unwrap_or_default());
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Verbatim(tokens) => self.scan(tokens, "syntax"),
            other => visit::visit_expr(self, other),
        }
    }

    /// Items capture nothing of the body they stand in.
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

impl Accesses<'_> {
    fn read_part(&mut self, place: &Expr, otherwise: impl FnOnce(&mut Self)) {
        if let Some(state) = self.part_of(place) {
            self.found[state].reads = true;
            self.visit_indices(place);
        } else {
            otherwise(self);
        }
    }
}

fn is_compound(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
