//! The cause of a refusal: searched along method chains, and in closures and functions.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::{Block, Expr, ExprCall, ExprClosure, ExprMethodCall, FnArg, Signature, Stmt};

use super::scope::{Held, Scope};
use super::walk::Walk;
use super::{Callee, Cause, Why};

/// Maximum depth of nested calls; deeper ones count as refusals.
const MOST_DEEP: usize = 12;

/// Methods of `Result` and `Option` that end a refusal.
const SETTLES: [&str; 15] = [
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
    "unwrap_or_else",
    "unwrap_err",
    "expect",
    "is_ok",
    "is_err",
    "is_ok_and",
    "is_err_and",
    "is_some",
    "is_none",
    "is_some_and",
    "map_or",
    "map_or_else",
];

/// Methods of a table that fail if it is full.
const INSERTS: [&str; 5] =
    ["insert", "get_or_insert", "insert_with_reply", "insert_answered", "insert_answered_by"];

/// The names of the packet's and the tables' types.
const OWNERS: [&str; 3] = ["Packet", "Headers", "Table"];

/// The tracked arguments of a call, one letter each: `p`, `t`, or `-`.
type Handed = String;

/// Results for the program's functions so far.
#[derive(Default)]
pub(super) struct Known {
    read: RefCell<BTreeMap<(usize, Handed), Option<Cause>>>,
    /// Functions in progress, the innermost last.
    busy: RefCell<Vec<usize>>,
}

impl<'a> Walk<'a> {
    /// The reason that an expression's value may refuse the packet; `None` if it can't.
    pub(super) fn cause(&mut self, value: &'a Expr) -> Option<Cause> {
        match value {
            Expr::Paren(inner) => self.cause(&inner.expr),
            Expr::Group(inner) => self.cause(&inner.expr),
            Expr::Reference(inner) => self.cause(&inner.expr),
            Expr::Path(_) => match self.scope.held(value) {
                Some(Held::Refusal(cause)) => Some(cause.clone()),
                _ => None,
            },
            Expr::Block(inner) => self.cause_of_block(&inner.block),
            Expr::Unsafe(inner) => self.cause_of_block(&inner.block),
            Expr::If(branch) => {
                let otherwise = branch.else_branch.as_ref().map(|(_, otherwise)| &**otherwise);
                let then = self.cause_of_block(&branch.then_branch);
                then.or_else(|| self.cause(otherwise?))
            }
            Expr::Match(matched) => matched.arms.iter().find_map(|arm| {
                let depth = self.scope.depth();
                self.scope.bind_pattern(&arm.pat, Held::Other);
                let cause = self.cause(&arm.body);
                self.scope.leave_to(depth);
                cause
            }),
            Expr::MethodCall(call) => self.cause_of_method(call),
            Expr::Call(call) => self.cause_of_call(call),
            _ => None,
        }
    }

    /// The cause of a block's final value.
    fn cause_of_block(&mut self, block: &'a Block) -> Option<Cause> {
        let depth = self.scope.depth();
        self.items(block);
        for statement in &block.stmts {
            if let Stmt::Local(local) = statement {
                self.declare(local);
            }
        }
        let cause = match block.stmts.last() {
            Some(Stmt::Expr(value, None)) => self.cause(value),
            _ => None,
        };
        self.scope.leave_to(depth);
        cause
    }

    fn cause_of_method(&mut self, call: &'a ExprMethodCall) -> Option<Cause> {
        let method = call.method.unraw().to_string();
        let span = call.method.span();
        match self.scope.held(&call.receiver) {
            Some(Held::Packet) => return Some(self.here(Why::Packet(method), span)),
            Some(Held::Table) if INSERTS.contains(&method.as_str()) => {
                return Some(self.here(Why::Table(method), span));
            }
            Some(Held::Table) => return self.follow_methods(&method, span, call, 't'),
            _ => {}
        }
        if SETTLES.contains(&method.as_str()) {
            return None;
        }
        let before = self.cause(&call.receiver);
        let cause = before.or_else(|| self.cause_of_closures(call.args.iter()));
        let hands = call.args.iter().any(|argument| self.tracked(argument).is_some());
        cause.or_else(|| hands.then(|| self.follow_methods(&method, span, call, '-')).flatten())
    }

    /// Closures among arguments: the called method may return the value of one.
    fn cause_of_closures(&mut self, arguments: impl Iterator<Item = &'a Expr>) -> Option<Cause> {
        for argument in arguments {
            let closure = match (argument, self.scope.held(argument)) {
                (Expr::Closure(closure), _) => closure,
                (_, Some(Held::Closure(closure))) => *closure,
                _ => continue,
            };
            if let Some(cause) = self.cause_of_closure(closure, &[]) {
                return Some(cause);
            }
        }
        None
    }

    fn cause_of_closure(&self, closure: &'a ExprClosure, given: &[Held<'a>]) -> Option<Cause> {
        let mut scope = self.scope.clone();
        for (at, input) in closure.inputs.iter().enumerate() {
            scope.bind_pattern(input, given.get(at).cloned().unwrap_or(Held::Other));
        }
        let walk = Walk::new(self.callees, self.known, scope, (self.file, self.module));
        first(walk.expression(&closure.body))
    }

    fn cause_of_call(&mut self, call: &'a ExprCall) -> Option<Cause> {
        let given: Vec<Held<'a>> = call.args.iter().map(|it| self.given(it)).collect();
        match self.scope.held(&call.func).cloned() {
            Some(Held::Closure(closure)) => return self.cause_of_closure(closure, &given),
            Some(Held::Function(item)) => return self.cause_within(&item.sig, &item.block, &given),
            _ => {}
        }
        if let Expr::Closure(closure) = peeled(&call.func) {
            return self.cause_of_closure(closure, &given);
        }
        let Expr::Path(path) = peeled(&call.func) else { return None };
        let words: Vec<String> =
            path.path.segments.iter().map(|it| it.ident.unraw().to_string()).collect();
        let (last, span) = path.path.segments.last().map(|it| (&it.ident, it.ident.span()))?;
        let hands = given.iter().any(|held| letter(held) != '-');
        if !hands {
            return self.cause_of_closures(call.args.iter());
        }
        if words.len() > 1 && OWNERS.contains(&words[words.len() - 2].as_str()) {
            let name = last.unraw().to_string();
            let of_table = matches!(given.first(), Some(Held::Table));
            return match of_table {
                true if !INSERTS.contains(&name.as_str()) => None,
                true => Some(self.here(Why::Table(name), span)),
                false => Some(self.here(Why::Packet(name), span)),
            };
        }
        match self.callees.function(&words, self.module) {
            Some(callee) => self.follow(callee, &given),
            None if is_constructor(last) || !self.callees.all_known() => None,
            None => Some(self.here(Why::Unseen(words.join("::")), span)),
        }
    }

    /// A method by its name: all methods of the program with that name.
    fn follow_methods(
        &mut self,
        method: &str,
        span: Span,
        call: &'a ExprMethodCall,
        receiver: char,
    ) -> Option<Cause> {
        let itself = if receiver == 't' { Held::Table } else { Held::Other };
        let given: Vec<Held<'a>> =
            [itself].into_iter().chain(call.args.iter().map(|it| self.given(it))).collect();
        let callees = self.callees.methods(method);
        if callees.is_empty() {
            // Only `insert` refuses among a table's own methods.
            let unseen = receiver == '-' && self.callees.all_known();
            return unseen.then(|| self.here(Why::Unseen(method.to_owned()), span));
        }
        callees.into_iter().find_map(|callee| self.follow(callee, &given))
    }

    fn follow(&self, callee: Callee<'a>, given: &[Held<'a>]) -> Option<Cause> {
        let handed: Handed = given.iter().map(letter).collect();
        let key = (callee.number, handed);
        if let Some(known) = self.known.read.borrow().get(&key) {
            return known.clone();
        }
        let name = callee.signature.ident.unraw().to_string();
        let deep = {
            let busy = self.known.busy.borrow();
            if busy.contains(&callee.number) {
                return None;
            }
            busy.len() > MOST_DEEP
        };
        if deep {
            return Some(self.here(Why::Unseen(name), callee.signature.ident.span()));
        }
        self.known.busy.borrow_mut().push(callee.number);
        let scope = entered(callee.signature, given);
        let walk = Walk::new(self.callees, self.known, scope, (callee.file, callee.module));
        let found = first(walk.body(callee.block));
        self.known.busy.borrow_mut().pop();
        let cause = found.map(|cause| Cause { through: cause.through.or(Some(name)), ..cause });
        self.known.read.borrow_mut().insert(key, cause.clone());
        cause
    }

    /// A function inside the body.
    fn cause_within(
        &self,
        signature: &'a Signature,
        block: &'a Block,
        given: &[Held<'a>],
    ) -> Option<Cause> {
        let mut scope = entered(signature, given);
        // Recursive calls are not followed again.
        scope.bind(&signature.ident, Held::Other);
        let walk = Walk::new(self.callees, self.known, scope, (self.file, self.module));
        let found = first(walk.body(block))?;
        let name = signature.ident.unraw().to_string();
        Some(Cause { through: found.through.or(Some(name)), ..found })
    }

    /// The argument as seen by the called function.
    fn given(&self, argument: &Expr) -> Held<'a> {
        self.tracked(argument).unwrap_or(Held::Other)
    }

    fn tracked(&self, argument: &Expr) -> Option<Held<'a>> {
        match self.scope.held(argument) {
            Some(Held::Packet) => Some(Held::Packet),
            Some(Held::Table) => Some(Held::Table),
            _ => None,
        }
    }

    fn here(&self, why: Why, span: Span) -> Cause {
        Cause { why, span, file: self.file, through: None }
    }
}

/// The scope of a function's parameters, bound to the arguments.
fn entered<'a>(signature: &'a Signature, given: &[Held<'a>]) -> Scope<'a> {
    let mut scope = Scope::default();
    // In a method call, the receiver is the first argument.
    for (input, held) in signature.inputs.iter().zip(given) {
        match input {
            FnArg::Receiver(receiver) => {
                scope.bind(&Ident::new("self", receiver.self_token.span), held.clone());
            }
            FnArg::Typed(typed) => scope.bind_pattern(&typed.pat, held.clone()),
        }
    }
    scope
}

fn letter(held: &Held<'_>) -> char {
    match held {
        Held::Packet => 'p',
        Held::Table => 't',
        _ => '-',
    }
}

fn peeled(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => peeled(&inner.expr),
        Expr::Group(inner) => peeled(&inner.expr),
        other => other,
    }
}

/// `Some(…)`, `Drop(…)`, and other capitalised names: they only wrap their arguments.
fn is_constructor(name: &Ident) -> bool {
    name.to_string().starts_with(char::is_uppercase)
}

fn first(escapes: Vec<super::Escape>) -> Option<Cause> {
    escapes.into_iter().next().map(|escape| escape.cause)
}
