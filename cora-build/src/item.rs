//! Reads and checks one annotated item.

use proc_macro2::TokenStream;

use crate::diag::{Diagnostics, Reader};
use crate::syntax::{HandlerDecl, Mark, MessageDecl, StateDecl};
use crate::{check, syntax};

/// Reads a type with `#[state(args)]`; `None` after a fault, which is in `diagnostics`.
pub fn parse_state(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<StateDecl> {
    let shape = syntax::state::run(args, item, reader, diagnostics)?;
    check::state::run(shape, diagnostics)
}

/// Reads a function with the attribute of a mark; `None` after a fault, which is in `diagnostics`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "takes the tokens of a macro, as `parse_state` does"
)]
pub fn parse_function(
    mark: Mark,
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<HandlerDecl> {
    let shape = syntax::handler::run(mark, &args, item, reader, diagnostics)?;
    check::handler::run(shape, diagnostics)
}

/// Reads a function with `#[flow_handler(args)]`.
pub fn parse_handler(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<HandlerDecl> {
    parse_function(Mark::Handler, args, item, reader, diagnostics)
}

/// Reads a type with `#[message(args)]`; `None` after a fault, which is in `diagnostics`.
pub fn parse_message(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<MessageDecl> {
    let shape = syntax::message::run(args, item, reader, diagnostics)?;
    check::message::run(shape, diagnostics)
}
