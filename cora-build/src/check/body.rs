//! Checks a handler's body: ordinary Rust, without states that no plan places, and without effects
//! that can't be rolled back.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Block, ExprAwait, ExprUnsafe, ItemStatic, Macro};

use crate::diag::{Code, Diagnostics, Place, codes};
use crate::syntax::is_attribute;

/// Checks a body.
pub(super) fn run(block: &Block, diagnostics: &mut Diagnostics) {
    Body { diagnostics }.visit_block(block);
}

struct Body<'a> {
    diagnostics: &'a mut Diagnostics,
}

const STATE_HELP: &str = "declare a `#[state(singleton)]` or `#[state(commutative)]`, and take it \
                          as a parameter";

impl Body<'_> {
    fn refuse(&mut self, code: Code, place: impl Into<Place>, message: &str, help: &str) {
        self.diagnostics.error(code, place, message).help(help);
    }

    fn refuse_unsafe(&mut self, place: Place) {
        self.refuse(
            codes::BODY_UNSAFE,
            place,
            "a handler has no `unsafe`: its accesses could be neither seen nor rolled back",
            "use the methods of the packet and of the states",
        );
    }

    fn refuse_await(&mut self, place: Place) {
        self.refuse(
            codes::BODY_AWAIT,
            place,
            "a handler runs from start to end for one packet: it has nothing to wait for",
            "take the `.await` away; keep data for later packets in a state",
        );
    }

    /// A macro's syntax is unknown, but its words are visible.
    fn scan(&mut self, tokens: &TokenStream) {
        let mut after_dot = false;
        for token in tokens.clone() {
            match &token {
                TokenTree::Group(group) => self.scan(&group.stream()),
                TokenTree::Ident(word) if word == "unsafe" => {
                    self.refuse_unsafe(word.span().into());
                }
                TokenTree::Ident(word) if word == "await" && after_dot => {
                    self.refuse_await(word.span().into());
                }
                _ => {}
            }
            after_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        }
    }
}

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.refuse_unsafe(block.unsafe_token.span.into());
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_expr_await(&mut self, wait: &'ast ExprAwait) {
        self.refuse_await(Place::of(&wait.await_token));
        visit::visit_expr_await(self, wait);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        let name = &item.ident;
        let message =
            format!("the static `{name}` is a state that no plan places and nothing rolls back");
        let help = format!("{STATE_HELP}; for constants, use `const`");
        self.refuse(codes::BODY_STATIC, Place::of(&item.static_token), &message, &help);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        if mac.path.segments.last().is_some_and(|segment| segment.ident == "thread_local") {
            self.refuse(
                codes::BODY_THREAD_LOCAL,
                Place::of(&mac.path),
                "a thread-local is a state that no plan places, and the NIC side has no threads",
                STATE_HELP,
            );
            return;
        }
        self.scan(&mac.tokens);
    }

    /// Attributes contain no code of the body.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        debug_assert!(!is_attribute(attribute, "flow_handler"), "the shape took it off");
    }
}
