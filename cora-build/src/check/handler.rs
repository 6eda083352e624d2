//! Checks a handler's signature: an ordinary function of a packet and states that returns a
//! verdict.

use syn::ext::IdentExt as _;
use syn::{FnArg, ReturnType, Safety, Signature, Type};

use super::{body, hook, parameter, timer, transparent};
use crate::diag::{Code, Diagnostics, Place, codes};
use crate::syntax::handler::HandlerShape;
use crate::syntax::names;
use crate::syntax::{HandlerDecl, Mark, Occasion};

/// Checks a handler; `None` after a fault.
pub(crate) fn run(shape: HandlerShape, diagnostics: &mut Diagnostics) -> Option<HandlerDecl> {
    let before = diagnostics.errors();
    let signature = &shape.item.sig;
    check_modifiers(shape.mark, signature, diagnostics);
    check_generics(shape.mark, signature, diagnostics);
    let (packet, occasion) = match shape.mark {
        Mark::Handler => {
            check_return(signature, diagnostics);
            parameter::first(signature, diagnostics).unzip()
        }
        Mark::Hook => {
            hook::returns(shape.mark, signature, diagnostics);
            let (ended, expires) = hook::ended(signature, diagnostics).unzip();
            (ended, expires.map(|expires| Occasion::Expiry(Box::new(expires))))
        }
        Mark::Timer => {
            hook::returns(shape.mark, signature, diagnostics);
            let period = timer::period(&shape.args, signature, diagnostics);
            (timer::tick(signature, diagnostics), period.map(|period| Occasion::Tick { period }))
        }
    };
    let (parameters, others) =
        parameter::states(shape.mark, signature, packet.as_ref(), diagnostics);
    if shape.mark != Mark::Handler {
        hook::states(shape.mark, &parameters, diagnostics);
    }
    body::run(&shape.item.block, diagnostics);
    let ident = signature.ident.clone();
    let decl = HandlerDecl {
        name: ident.unraw().to_string(),
        ident,
        packet: packet?,
        occasion: occasion?,
        parameters,
        others,
        transparent: shape.says.transparent,
        at_host: shape.says.at_host,
        item: shape.item,
    };
    if decl.transparent {
        transparent::run(&decl, diagnostics);
    }
    (shape.sound && diagnostics.errors() == before).then_some(decl)
}

/// Refuses the modifiers `async`, `unsafe`, `const` and `extern`.
fn check_modifiers(mark: Mark, signature: &Signature, diagnostics: &mut Diagnostics) {
    let (name, noun) = (&signature.ident, mark.noun());
    let mut refuse = |code: Code, place: Place, word: &str, why: &str, help: &str| {
        let message = format!("the {noun} `{name}` is `{word}`, and {why}");
        diagnostics.error(code, place, message).help(help);
    };
    if let Some(token) = &signature.asyncness {
        refuse(
            codes::HANDLER_ASYNC,
            token.span.into(),
            "async",
            "a handler runs from start to end for one packet",
            "take `async` away; keep data for later packets in a state",
        );
    }
    if let Safety::Unsafe(token) = &signature.safety {
        refuse(
            codes::HANDLER_UNSAFE,
            token.span.into(),
            "unsafe",
            "the runtime can't meet the conditions that it sets its caller",
            "take `unsafe` away",
        );
    }
    if let Some(token) = &signature.constness {
        refuse(
            codes::HANDLER_CONST,
            token.span.into(),
            "const",
            "a handler runs per packet, never while compiling",
            "take `const` away",
        );
    }
    if let Some(abi) = &signature.abi {
        refuse(
            codes::HANDLER_EXTERN,
            Place::of(abi),
            "extern",
            "only the runtime calls it",
            "take `extern` and its ABI away",
        );
    }
}

/// Refuses generics: a handler is a single function.
fn check_generics(mark: Mark, signature: &Signature, diagnostics: &mut Diagnostics) {
    let (name, noun) = (&signature.ident, mark.noun());
    if !signature.generics.params.is_empty() {
        diagnostics
            .error(
                codes::HANDLER_GENERIC,
                Place::of(&signature.generics),
                format!(
                    "the {noun} `{name}` is generic, and the plan knows one {noun} of each name"
                ),
            )
            .help(
                "name the types; lifetimes can be left out; generic code goes to a helper function",
            );
    }
    if let Some(clause) = &signature.generics.where_clause {
        diagnostics
            .error(
                codes::HANDLER_WHERE,
                Place::of(clause),
                format!("the {noun} `{name}` has a `where` clause, and no types to bound"),
            )
            .help("take it away");
    }
    if let Some(variadic) = &signature.variadic {
        diagnostics
            .error(
                codes::HANDLER_VARIADIC,
                Place::of(variadic),
                "a handler is passed its packet and its states, and nothing else",
            )
            .help("list the states as parameters");
    }
    if let Some(FnArg::Receiver(receiver)) = signature.inputs.first() {
        diagnostics
            .error(
                codes::HANDLER_SELF,
                Place::of(receiver),
                format!("the {noun} `{name}` is a method, and a {noun} keeps data in states"),
            )
            .help("make it a free function, and the data of `self` a `#[state]` that it takes");
    }
}

/// Checks the return type `Verdict`.
fn check_return(signature: &Signature, diagnostics: &mut Diagnostics) {
    let (place, found) = match &signature.output {
        ReturnType::Default => {
            (Place::from(signature.paren_token.span.close()), "nothing".to_owned())
        }
        ReturnType::Type(_, ty) if is_verdict(ty) => return,
        ReturnType::Type(_, ty) => (Place::of(ty), format!("`{}`", names::shown(ty))),
    };
    diagnostics
        .error(
            codes::HANDLER_RETURN,
            place,
            format!("a handler returns `Verdict`, and `{}` returns {found}", signature.ident),
        )
        .help(
            "write `-> Verdict`, and end in `Transmit`, `Drop(reason)`, `Pass`, `Redirect(port)` or `Done`",
        );
}

fn is_verdict(ty: &Type) -> bool {
    names::last_segment(ty).is_some_and(|name| name == "Verdict")
}
