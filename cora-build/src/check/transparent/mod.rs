//! Transparent handlers pass everything that they do not understand: no `?` may drop a packet
//! because a getter or a setter fails, or because a table is full.
//!
//! 1. The body is walked in source order. Names of the packet, of a table, of a closure or of a
//!    pending refusal are tracked with their scopes ([`scope`]).
//! 2. For each error that leaves the body (`?`, `return`, the final value), the *cause* is
//!    searched: along method chains, and in closures and functions of the program that get the
//!    packet or a table ([`cause`]).
//! 3. The macro sees one item, so it follows no function. The build script does. It assumes that an
//!    unknown function may refuse.
//!
//! An explicit `Drop(reason)` or `Err(…)` is a decision of the handler, and is allowed.

mod cause;
mod scope;
mod walk;

use proc_macro2::Span;
use syn::{Block, Signature};

use self::scope::{Held, Scope};
use self::walk::Walk;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::{HandlerDecl, ParameterAccess};

/// A function of the program.
#[derive(Clone, Copy)]
pub(crate) struct Callee<'a> {
    /// Its index, the same at every call.
    pub(crate) number: usize,
    /// Its signature.
    pub(crate) signature: &'a Signature,
    /// Its body.
    pub(crate) block: &'a Block,
    /// Its modules.
    pub(crate) module: &'a [String],
    /// Number of its file.
    pub(crate) file: usize,
}

/// The functions that a body may call, as known to the reader.
pub(crate) trait Callees {
    /// The function that a path in a module resolves to.
    fn function(&self, path: &[String], module: &[String]) -> Option<Callee<'_>>;
    /// Every method of this name.
    fn methods(&self, name: &str) -> Vec<Callee<'_>>;
    /// Whether an unknown function belongs to another crate, so that it may refuse.
    fn all_known(&self) -> bool;
}

/// The macro's view: its own item.
struct ItemAlone;

impl Callees for ItemAlone {
    fn function(&self, _: &[String], _: &[String]) -> Option<Callee<'_>> {
        None
    }

    fn methods(&self, _: &str) -> Vec<Callee<'_>> {
        Vec::new()
    }

    fn all_known(&self) -> bool {
        false
    }
}

/// The reason that an expression may refuse the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The packet's method of this name fails.
    Packet(String),
    /// The table's method of this name fails: the table is full.
    Table(String),
    /// This function gets the packet or a table, and its body is unknown.
    Unseen(String),
}

/// The cause of a refusal, and its place.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "a macro follows no function, so it tells no other place")]
pub(crate) struct Cause {
    /// The reason.
    pub(crate) why: Why,
    /// The token that causes it.
    pub(crate) span: Span,
    /// Number of its file.
    pub(crate) file: usize,
    /// The function that contains it, if one was followed.
    pub(crate) through: Option<String>,
}

/// A place where a refusal leaves the handler.
#[derive(Clone, Debug)]
pub(crate) struct Escape {
    /// The `?`, or the returned value.
    pub(crate) place: Place,
    /// Whether it is a `?`.
    pub(crate) is_question: bool,
    /// The cause.
    pub(crate) cause: Cause,
}

/// Checks one item, as far as it shows by itself.
pub(super) fn run(decl: &HandlerDecl, diagnostics: &mut Diagnostics) {
    for escape in escapes(decl, (0, &[]), &ItemAlone) {
        tell(decl, &escape, None, diagnostics);
    }
}

/// The places where the body of a handler lets a refusal escape.
pub(crate) fn escapes(
    decl: &HandlerDecl,
    (file, module): (usize, &[String]),
    callees: &dyn Callees,
) -> Vec<Escape> {
    let mut scope = Scope::default();
    scope.bind(&decl.packet, Held::Packet);
    for parameter in &decl.parameters {
        if matches!(parameter.access, ParameterAccess::Table { .. }) {
            scope.bind(&parameter.ident, Held::Table);
        }
    }
    let known = cause::Known::default();
    Walk::new(callees, &known, scope, (file, module)).body(&decl.item.block)
}

/// Reports an escape; `at` is the file and line of a cause inside a function.
pub(crate) fn tell(
    decl: &HandlerDecl,
    escape: &Escape,
    at: Option<(&str, usize)>,
    diagnostics: &mut Diagnostics,
) {
    let (name, packet) = (&decl.name, &decl.packet);
    let (what, cure) = match &escape.cause.why {
        Why::Packet(method) if is_setter(method) => (
            format!("`{method}` of the packet fails"),
            format!("`if {packet}.{method}(…).is_err() {{ return Transmit; }}`"),
        ),
        Why::Packet(method) => (
            format!("`{method}` of the packet fails"),
            format!("`let Ok(value) = {packet}.{method}() else {{ return Transmit }};`"),
        ),
        Why::Table(method) => (
            format!("`{method}` finds the table full"),
            format!("`if table.{method}(…).is_err() {{ return Transmit; }}`"),
        ),
        Why::Unseen(function) => (
            format!("`{function}`, which gets the packet or a table, fails"),
            format!("`let Ok(value) = {function}(…) else {{ return Transmit }};`"),
        ),
    };
    let cure = match escape.cause.through {
        Some(_) => "`let Ok(value) = … else { return Transmit };`".to_owned(),
        None => cure,
    };
    let through = escape.cause.through.as_ref().map(|function| match at {
        Some((file, line)) => format!(" in `{function}` ({file}:{line})"),
        None => format!(" in `{function}`"),
    });
    let subject = if escape.is_question { "this `?`" } else { "this value" };
    let message = format!(
        "`{name}` is transparent, and {subject} drops the packet where {what}{}",
        through.unwrap_or_default()
    );
    diagnostics.error(codes::HANDLER_NOT_TRANSPARENT, escape.place, message).help(format!(
        "let such a packet pass: {cure}; to drop it all the same, write `return Drop(reason)` out"
    ));
}

/// Whether a method of the packet changes it.
fn is_setter(method: &str) -> bool {
    const OTHERS: [&str; 5] = ["splice", "turn_back", "decrement_ttl", "translate", "shift_sack"];
    method.starts_with("set_") || OTHERS.contains(&method)
}
