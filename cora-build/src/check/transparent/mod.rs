//! Transparent handlers let everything pass that they do not understand: no `?` may drop a packet
//! because a getter or a setter fails, or a table is full.
//!
//! 1. The body is walked in the order of the source. Names that stand for the packet, for a table,
//!    for a closure or for a refusal that waits in a variable are kept with their scopes
//!    ([`scope`]).
//! 2. Where an error leaves the body (`?`, `return`, the value at its end), its *cause* is looked
//!    for: along the chain of methods, and into closures and functions of the program that get the
//!    packet or a table ([`cause`]).
//! 3. The macro sees one item, so it follows no function. The build script does, and takes a
//!    function that it can't see for one that may refuse.
//!
//! `Drop(reason)` and `Err(…)` written out are a decision of the handler's, and stay.

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
    /// Its number, the same at every call.
    pub(crate) number: usize,
    /// Its signature.
    pub(crate) signature: &'a Signature,
    /// Its body.
    pub(crate) block: &'a Block,
    /// Modules around it.
    pub(crate) module: &'a [String],
    /// Number of its file.
    pub(crate) file: usize,
}

/// The functions that a body may call, as far as the reader knows them.
pub(crate) trait Callees {
    /// The function that a path means in a module.
    fn function(&self, path: &[String], module: &[String]) -> Option<Callee<'_>>;
    /// Every method of this name.
    fn methods(&self, name: &str) -> Vec<Callee<'_>>;
    /// Whether a function that is not found belongs to another crate, so that it may refuse.
    fn all_known(&self) -> bool;
}

/// What the macro knows: its own item.
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

/// Why an expression may refuse the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The packet's method of this name fails.
    Packet(String),
    /// The table's method of this name fails: the table is full.
    Table(String),
    /// This function gets the packet or a table, and its body can't be seen.
    Unseen(String),
}

/// The cause of a refusal, and where it is.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "a macro follows no function, so it tells no other place")]
pub(crate) struct Cause {
    /// What refuses.
    pub(crate) why: Why,
    /// The token that says so.
    pub(crate) span: Span,
    /// Number of its file.
    pub(crate) file: usize,
    /// The function that was followed to it, if it was.
    pub(crate) through: Option<String>,
}

/// A place where a refusal leaves the handler.
#[derive(Clone, Debug)]
pub(crate) struct Escape {
    /// The `?`, or the value that is returned.
    pub(crate) place: Place,
    /// Whether it is a `?`.
    pub(crate) is_question: bool,
    /// What refuses.
    pub(crate) cause: Cause,
}

/// Holds one item against the rule, as far as it can be seen by itself.
pub(super) fn run(decl: &HandlerDecl, diagnostics: &mut Diagnostics) {
    for escape in escapes(decl, (0, &[]), &ItemAlone) {
        tell(decl, &escape, None, diagnostics);
    }
}

/// Where the body of a handler lets a refusal out.
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

/// Tells an escape; `at` is file and line of its cause, where that is in a function.
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
