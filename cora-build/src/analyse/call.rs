//! Calls: functions of the program are followed, closures run, and all others are opaque.

use std::collections::BTreeMap;
use std::rc::Rc;

use cora_plan::graph::Exit;
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprCall, ExprClosure, FnArg, Pat, Token, Type};

use super::bound::unlearn;
use super::expression::valued;
use super::macros::words;
use super::reader::{Callable, Frame, HANDED_ON, Reader, Site};
use super::value::{Closure, Value};
use super::way::{Binding, Touch, Way, Ways, union};
use super::written;
use crate::syntax::RowForm;

/// Maximum depth of nested calls.
const MOST_DEEP: usize = 12;

/// The argument expressions of a call; [`words_of`] gives the handler's names for them.
pub(super) type Arguments = Punctuated<Expr, Token![,]>;

impl<'a> Reader<'a> {
    /// A call of a function, or of a constructor such as `Some(x)` or `Drop(reason)`.
    pub(super) fn call(&mut self, call: &'a ExprCall, ways: Ways) -> Ways {
        if let Some(made) = constructor(&call.func)
            && !self.is_declared(&call.func)
        {
            let mut arguments = call.args.iter();
            let ways = match arguments.next() {
                Some(first) => {
                    let ways = self.expr(first, ways);
                    self.wrapped(ways, made, written::begin(first))
                }
                None => valued(ways, &Value::Unknown),
            };
            return arguments.fold(ways, |ways, argument| self.consumed(argument, ways));
        }
        let mut ways = self.expr(&call.func, ways);
        ways.iter_mut().for_each(Way::push);
        let ways = self.arguments(&call.args, ways);
        let count = call.args.len();
        self.each_kind(
            ways,
            |way| way.stack[way.stack.len() - 1 - count].clone(),
            |reader, callee, ways| {
                let ways = match callee {
                    Value::Closure(closure) => reader.run(&closure, &call.args, ways),
                    Value::Function(routine) => {
                        reader.follow(routine, None, &call.args, written::begin(&call.func), ways)
                    }
                    other => {
                        let ways = reader.surrender(&call.args, ways);
                        match other.closure() {
                            Some(closure) => reader.repeat(&closure.clone(), ways),
                            None => ways,
                        }
                    }
                };
                ways.into_iter()
                    .map(|mut way| {
                        way.pop();
                        way
                    })
                    .collect()
            },
        )
    }

    /// Whether a path names an item of the program.
    fn is_declared(&mut self, path: &Expr) -> bool {
        let Expr::Path(path) = path else { return false };
        let words: Vec<String> =
            path.path.segments.iter().map(|segment| written::name(&segment.ident)).collect();
        let module = self.frame().module;
        self.surroundings.canonical(&words, module).is_some()
    }

    /// The result of a constructor such as `Ok(value)`.
    fn wrapped(&mut self, ways: Ways, made: Made, span: Span) -> Ways {
        let (forwards, others): (Ways, Ways) =
            ways.into_iter().partition(|way| matches!(way.value, Value::Forward(_)));
        let others = self.consume(others, span);
        let wrap = |way: Way| {
            let value = match (made, &way.value) {
                (Made::Success, Value::Forward(exit)) => Value::Succeeds(Some(*exit)),
                (Made::Success, _) => Value::Succeeds(None),
                (Made::Redirect, _) => Value::Succeeds(Some(Exit::Redirect)),
                (Made::RedirectForward, _) => Value::Forward(Exit::Redirect),
                (Made::Failure, _) => Value::Fails,
            };
            way.with(value)
        };
        forwards.into_iter().chain(others).map(wrap).collect()
    }

    /// Reads arguments, and pushes their values to the stack.
    pub(super) fn arguments(&mut self, arguments: &'a Arguments, mut ways: Ways) -> Ways {
        for argument in arguments {
            ways = self.expr(argument, ways);
            let name = written::variable(argument);
            for way in &mut ways {
                // It may be borrowed mutably.
                if let Some(name) = &name {
                    way.forget(name);
                }
                way.push();
            }
        }
        ways
    }

    /// Passes arguments to an opaque callee. A closure among them may run when the result is used.
    pub(super) fn surrender(&mut self, arguments: &'a Arguments, ways: Ways) -> Ways {
        let spans: Vec<Span> = arguments.iter().map(written::begin).collect();
        let ways = self.each(ways, |reader, mut way| {
            let values = way.stack.split_off(way.stack.len() - spans.len());
            let mut ways = vec![way];
            let mut lazy = Value::Unknown;
            for (value, span) in values.into_iter().zip(&spans) {
                if let Some(lent) = value.lent() {
                    for way in &mut ways {
                        reader.unseen(way, lent, *span, HANDED_ON);
                    }
                }
                if let Value::Outbox(outbox) = value {
                    ways = reader.sends_unseen(outbox, ways, *span);
                }
                if let Some(closure) = value.closure() {
                    ways = reader.repeat(&closure.clone(), ways);
                    lazy = Value::Lazy(closure.clone());
                }
            }
            valued(ways, &lazy)
        });
        self.tidy(ways)
    }

    /// Follows a function of the program; its arguments are on the stack, and `receiver` is its
    /// `self`.
    pub(super) fn follow(
        &mut self,
        routine: usize,
        receiver: Option<&Value>,
        arguments: &'a Arguments,
        span: Span,
        ways: Ways,
    ) -> Ways {
        let callee = self.callable[routine];
        if let Some(why) = self.unfollowed(routine, callee, receiver, arguments.len(), &ways) {
            let mut ways = ways;
            if let Some(lent) = receiver.and_then(Value::lent) {
                for way in &mut ways {
                    self.unseen(way, lent, span, &why);
                }
            }
            return self.surrender(arguments, ways);
        }
        let texts: Vec<Rc<str>> = arguments.iter().map(plain_words).collect();
        let mut ways: Ways = ways
            .into_iter()
            .map(|way| self.entered(callee, receiver, (arguments, &texts), way))
            .collect();
        let operands = ways.first().map_or(0, |way| way.stack.len());
        let frame = Frame::new(callee.file, callee.module, Some(routine), operands);
        self.frames.push(frame);
        ways = self.body(callee.block, ways);
        self.frames.pop();
        for way in &mut ways {
            way.env = way.callers.pop().unwrap_or_default();
        }
        self.tidy(ways)
    }

    /// The reason that a function is not followed.
    fn unfollowed(
        &self,
        routine: usize,
        callee: Callable<'a>,
        receiver: Option<&Value>,
        arguments: usize,
        ways: &Ways,
    ) -> Option<String> {
        let name = &callee.signature.ident;
        if self.frames.iter().any(|frame| frame.routine == Some(routine)) {
            return Some(format!("`{name}` calls itself"));
        }
        if self.frames.len() > MOST_DEEP {
            return Some(format!("`{name}` is called {MOST_DEEP} calls deep"));
        }
        let inputs: Vec<&FnArg> = callee.signature.inputs.iter().collect();
        let explicit = inputs.len().checked_sub(usize::from(receiver.is_some()))?;
        if explicit != arguments {
            return Some(format!("`{name}` takes other arguments"));
        }
        let lends_otherwise = ways.iter().any(|way| {
            let values = &way.stack[way.stack.len() - arguments..];
            let taken = inputs[inputs.len() - arguments..].iter();
            values.iter().zip(taken).any(|(value, input)| match value.lent() {
                Some(lent) => !takes(input, &self.parameters[lent.state].state),
                None => false,
            })
        });
        lends_otherwise.then(|| {
            format!("`{name}` takes the state as something other than `&mut` or `&` of it")
        })
    }

    /// The way at the start of a function's body.
    fn entered(
        &mut self,
        callee: Callable<'a>,
        receiver: Option<&Value>,
        (arguments, texts): (&'a Arguments, &[Rc<str>]),
        mut way: Way,
    ) -> Way {
        let values = way.stack.split_off(way.stack.len() - arguments.len());
        let texts: Vec<Rc<str>> =
            arguments.iter().zip(texts).map(|(it, text)| words_of(it, text, &way)).collect();
        let outer = std::mem::take(&mut way.env);
        way.callers.push(outer);
        way.enter();
        if let Some(receiver) = receiver {
            way.bind("self", receiver.clone(), false);
        }
        let inputs = callee.signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.pat),
            FnArg::Receiver(_) => None,
        });
        // The arguments of an associated function called by its path include `self`.
        let skipped = arguments.len() - inputs.clone().count().min(arguments.len());
        if let Some(value) = values.first().filter(|_| skipped == 1) {
            way.bind("self", value.clone(), false);
        }
        let given = values.into_iter().zip(texts).skip(skipped);
        for (pattern, (value, text)) in inputs.zip(given) {
            way = self.bind(pattern, way.with(value));
            if let (Pat::Ident(_), Some(binding)) = (pattern, Rc::make_mut(&mut way.env).last_mut())
            {
                binding.written = Some(text);
            }
        }
        way
    }

    /// A closure, as a value.
    pub(super) fn closure(&mut self, closure: &'a ExprClosure, mut ways: Ways) -> Ways {
        let known = self.closures.iter().position(|site| std::ptr::eq(site.closure, closure));
        let site = known.unwrap_or_else(|| {
            let (file, module) = (self.frame().file, self.frame().module);
            self.closures.push(Site { closure, file, module });
            self.closures.len() - 1
        });
        let named = words(&closure.body.to_token_stream());
        for way in &mut ways {
            for word in &named {
                way.forget(word);
            }
            let matters = |binding: &Binding| {
                binding.value.lent().is_some()
                    || binding.value.closure().is_some()
                    || matches!(binding.value, Value::Function(_) | Value::Outbox(_))
            };
            way.value = if named.iter().filter_map(|name| way.named(name)).any(matters) {
                let mut env = way.env.clone();
                unlearn(&mut env);
                Value::Closure(Rc::new(Closure { site, env }))
            } else {
                Value::Unknown
            };
        }
        ways
    }

    /// Runs a closure that is called by name, with the arguments on the stack.
    fn run(&mut self, closure: &Rc<Closure>, arguments: &'a Arguments, ways: Ways) -> Ways {
        let count = arguments.len();
        let mut ways = ways;
        let mut given = Vec::new();
        for way in &mut ways {
            given.push(way.stack.split_off(way.stack.len() - count));
            let outer = std::mem::replace(&mut way.env, closure.env.clone());
            way.callers.push(outer);
        }
        let mut ways = self.closure_body(closure, ways, &given);
        for way in &mut ways {
            way.env = way.callers.pop().unwrap_or_default();
        }
        self.tidy(ways)
    }

    fn closure_body(&mut self, closure: &Rc<Closure>, ways: Ways, given: &[Vec<Value>]) -> Ways {
        let site = self.closures[closure.site];
        let operands = ways.first().map_or(0, |way| way.stack.len());
        self.frames.push(Frame::new(site.file, site.module, None, operands));
        let mut entered = Vec::new();
        for (at, mut way) in ways.into_iter().enumerate() {
            way.enter();
            for (number, input) in site.closure.inputs.iter().enumerate() {
                let value = given.get(at).and_then(|values| values.get(number)).cloned();
                way = self.bind(input, way.with(value.unwrap_or(Value::Unknown)));
            }
            entered.push(way);
        }
        let live = self.expr(&site.closure.body, entered);
        let mut ended = std::mem::take(&mut self.frame().returns);
        ended.extend(live);
        self.frames.pop();
        ended
    }

    /// Runs a closure any number of times.
    pub(super) fn repeat(&mut self, closure: &Rc<Closure>, ways: Ways) -> Ways {
        if ways.is_empty() || self.frames.len() > MOST_DEEP || !self.step(1) {
            return ways;
        }
        let ended = self.closure_body(closure, vec![Way::new(closure.env.clone())], &[]);
        let group: Vec<Touch> = union(ended.iter().flat_map(|way| way.trace.touches()));
        self.perhaps(ways, &group)
    }

    /// Runs the closures that may run when a value is used.
    pub(super) fn run_lazy(&mut self, ways: Ways) -> Ways {
        if ways.iter().all(|way| way.value.closure().is_none()) {
            return ways;
        }
        self.each_kind(
            ways,
            |way| way.value.clone(),
            |reader, value, ways| match value.closure() {
                Some(closure) => reader.repeat(&closure.clone(), ways),
                None => ways,
            },
        )
    }

    /// Groups ways by a value, and processes each group.
    pub(super) fn each_kind(
        &mut self,
        ways: Ways,
        kind: impl Fn(&Way) -> Value,
        mut turn: impl FnMut(&mut Self, Value, Ways) -> Ways,
    ) -> Ways {
        let mut kinds: Vec<(Value, Ways)> = Vec::new();
        let mut places = BTreeMap::new();
        for way in ways {
            let kind = kind(&way);
            let place = *places.entry(kind.clone()).or_insert(kinds.len());
            if place == kinds.len() {
                kinds.push((kind, Vec::new()));
            }
            kinds[place].1.push(way);
        }
        let turned = kinds.into_iter().flat_map(|(kind, ways)| turn(self, kind, ways)).collect();
        self.tidy(turned)
    }
}

/// The value of a constructor.
#[derive(Clone, Copy)]
enum Made {
    Success,
    Failure,
    Redirect,
    RedirectForward,
}

fn constructor(callee: &Expr) -> Option<Made> {
    let Expr::Path(path) = callee else { return None };
    let words: Vec<String> =
        path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let forward = words.len() > 1 && words[words.len() - 2] == "Forward";
    match words.last()?.as_str() {
        "Some" | "Ok" => Some(Made::Success),
        "Err" | "Drop" => Some(Made::Failure),
        "Redirect" if forward => Some(Made::RedirectForward),
        "Redirect" => Some(Made::Redirect),
        _ => None,
    }
}

/// The text of an argument at its call, without `&`.
pub(super) fn plain_words(argument: &Expr) -> Rc<str> {
    written::text(written::bare(argument)).into()
}

/// The handler's name for an argument with the text `plain` at its call.
pub(super) fn words_of(argument: &Expr, plain: &Rc<str>, way: &Way) -> Rc<str> {
    let bound = written::variable(argument).and_then(|name| way.named(&name)?.written.clone());
    bound.unwrap_or_else(|| plain.clone())
}

/// Whether a parameter takes a state by reference to its own type: `&mut Table<S>`, `&Map<S>`,
/// `&S`.
fn takes(input: &FnArg, state: &str) -> bool {
    let FnArg::Typed(typed) = input else { return true };
    let Type::Reference(reference) = &*typed.ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    path.path.segments.last().is_some_and(|last| {
        let name = written::name(&last.ident);
        matches!(&*name, "Table" | "Merged" | "Objects" | "Region")
            || name == state
            || RowForm::of(&name).is_some()
    })
}
