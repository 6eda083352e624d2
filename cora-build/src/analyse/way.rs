//! One way through a body up to the current place: its accesses to states, and its bindings.

use std::cmp::Ordering;
use std::rc::Rc;

use cora_plan::graph::{Does, How};
use proc_macro2::Span;

use super::value::Value;

/// Names in scope. Ways share them until one changes.
pub(super) type Names = Rc<Vec<Binding>>;

/// Ways that reach the same place in the source.
pub(super) type Ways = Vec<Way>;

/// One way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    /// Its accesses.
    pub(super) trace: Trace,
    /// Names in scope, the innermost last.
    pub(super) env: Names,
    /// Names in scope in the calling functions.
    pub(super) callers: Vec<Names>,
    /// Values of pending operands.
    pub(super) stack: Vec<Value>,
    /// Value of the last expression.
    pub(super) value: Value,
}

/// A name. An empty name marks the start of a scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Binding {
    /// The name.
    pub(super) name: Rc<str>,
    /// Knowledge of its value.
    pub(super) value: Value,
    /// Whether it was declared `mut`; nothing is learned of such names.
    pub(super) mutable: bool,
    /// The handler's name for it, for the parameter of a helper.
    pub(super) written: Option<Rc<str>>,
}

/// A place in the program.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Number of the file.
    pub file: usize,
    /// Its span in the file.
    pub span: Span,
}

/// The operation of a [`Touch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// An access to a state.
    Access(Does),
    /// A message is put into an outbox.
    Send(How),
}

/// An access to a state, or a message sent. Equality ignores its place.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Index of the state among the handler's parameters; outboxes for messages follow the states.
    pub state: usize,
    /// The operation.
    pub act: Act,
    /// Its key, as written in the source; of a message the whole message.
    pub key: Option<Rc<str>>,
    /// It happens any number of times.
    pub many: bool,
    /// An earlier access may have written a state.
    pub after_write: bool,
    /// Whether it may write.
    pub writes: bool,
    /// Its place.
    pub at: At,
}

/// Accesses in order. Ways share them until one adds an access.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    touches: Rc<Vec<Touch>>,
    /// A hash; traces with different hashes differ.
    print: u64,
    written: bool,
}

impl Touch {
    /// The operation without its multiplicity and history.
    fn deed(&self) -> (usize, Act, Option<&str>) {
        (self.state, self.act, self.key.as_deref())
    }

    /// Whether it is an access to a state.
    const fn is_access(&self) -> bool {
        matches!(self.act, Act::Access(_))
    }

    /// Whether it is the same operation as another, ignoring multiplicity and history.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.deed() == other.deed()
    }
}

impl PartialEq for Touch {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Touch {}

impl PartialOrd for Touch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Touch {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |touch: &Self| (touch.many, touch.after_write);
        self.deed().cmp(&other.deed()).then_with(|| key(self).cmp(&key(other)))
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Trace {}

impl PartialOrd for Trace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Trace {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_print = (self.print, self.touches.len()).cmp(&(other.print, other.touches.len()));
        by_print.then_with(|| {
            let same = Rc::ptr_eq(&self.touches, &other.touches);
            if same { Ordering::Equal } else { self.touches.cmp(&other.touches) }
        })
    }
}

impl Trace {
    /// A trace of these accesses.
    pub(super) fn of(touches: Vec<Touch>) -> Self {
        let print = touches.iter().fold(0, printed);
        let written = touches.iter().any(|touch| touch.writes);
        Self { touches: Rc::new(touches), print, written }
    }

    /// The accesses.
    pub(super) fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Adds a single access; a repeated access in a row appears once. Each message counts.
    pub(super) fn push(&mut self, mut touch: Touch) {
        if touch.is_access() {
            let last = self.touches.iter().rev().find(|last| last.is_access());
            if last.is_some_and(|last| !last.many && last.repeats(&touch)) {
                return;
            }
            touch.after_write = self.written;
        }
        self.written |= touch.writes;
        self.print = printed(self.print, &touch);
        Rc::make_mut(&mut self.touches).push(touch);
    }

    /// Adds accesses that each happen any number of times, in any order. They join a group of such
    /// accesses at the end.
    pub(super) fn push_many(&mut self, group: &[Touch]) {
        let mut touches = self.touches.to_vec();
        let begin = touches.iter().rposition(|touch| !touch.many).map_or(0, |at| at + 1);
        for touch in group {
            if !touches[begin..].iter().any(|present| present.repeats(touch)) {
                touches.push(Touch { many: true, ..touch.clone() });
            }
        }
        let (before, group) = touches.split_at_mut(begin);
        let written = before.iter().any(|touch| touch.writes);
        let accesses = group.iter().filter(|touch| touch.is_access()).count();
        let writes = accesses > 1 && group.iter().any(|touch| touch.writes);
        for touch in group.iter_mut().filter(|touch| touch.is_access()) {
            touch.after_write = written || writes;
        }
        *self = Self::of(touches);
    }

    /// The states touched, and the outboxes behind them, as bits.
    pub(super) fn states(&self) -> u64 {
        self.touches.iter().fold(0, |states, touch| states | 1 << touch.state)
    }
}

/// The hash of a trace with one more access: FNV-1a, 64 bits, over the compared fields.
fn printed(print: u64, touch: &Touch) -> u64 {
    let turn = |print: u64, word: u64| (print ^ word).wrapping_mul(0x0100_0000_01b3);
    let flags = u64::from(touch.many) << 1 | u64::from(touch.after_write);
    let act = match touch.act {
        Act::Access(does) => does as u64,
        Act::Send(how) => 0x20 | how as u64,
    };
    let deed = (touch.state as u64) << 8 | act << 2 | flags;
    let print = turn(print ^ 0xcbf2_9ce4_8422_2325, deed);
    let key = touch.key.as_deref().unwrap_or_default();
    key.bytes().fold(print, |print, byte| turn(print, u64::from(byte)))
}

/// The distinct accesses, in order of their first occurrence.
pub(super) fn union<'t, I: Iterator<Item = &'t Touch>>(touches: I) -> Vec<Touch> {
    let mut union: Vec<Touch> = Vec::new();
    for touch in touches {
        if !union.iter().any(|present| present.repeats(touch)) {
            union.push(touch.clone());
        }
    }
    union
}

impl Way {
    /// An initial way with these names in scope.
    pub(super) fn new(env: Names) -> Self {
        let trace = Trace::default();
        Self { trace, env, callers: Vec::new(), stack: Vec::new(), value: Value::Unknown }
    }

    /// The same way with another value.
    pub(super) fn with(mut self, value: Value) -> Self {
        self.value = value;
        self
    }

    /// Binds a name.
    pub(super) fn bind(&mut self, name: &str, value: Value, mutable: bool) {
        Rc::make_mut(&mut self.env).push(Binding {
            name: name.into(),
            value,
            mutable,
            written: None,
        });
    }

    /// The current binding of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Binding> {
        self.env.iter().rev().find(|binding| &*binding.name == name)
    }

    /// Changes the value of a name.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        if let Some(at) = self.env.iter().rposition(|binding| &*binding.name == name) {
            Rc::make_mut(&mut self.env)[at].value = value;
        }
    }

    /// Learns the value of a name, unless the name is mutable.
    pub(super) fn learn(&mut self, name: &str, value: Value) {
        let learns = self.named(name).is_some_and(|binding| {
            !binding.mutable && (binding.value == Value::Unknown || binding.value.is_learned())
        });
        if learns {
            self.set(name, value);
        }
    }

    /// Forgets the facts learned about a name.
    pub(super) fn forget(&mut self, name: &str) {
        if self.named(name).is_some_and(|binding| binding.value.is_learned()) {
            self.set(name, Value::Unknown);
        }
    }

    /// Begins a scope.
    pub(super) fn enter(&mut self) {
        self.bind("", Value::Unknown, true);
    }

    /// Number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.env.iter().filter(|binding| binding.name.is_empty()).count()
    }

    /// Ends scopes down to this depth.
    pub(super) fn leave_to(&mut self, depth: usize) {
        for _ in depth..self.depth() {
            self.leave();
        }
    }

    /// Ends the innermost scope.
    pub(super) fn leave(&mut self) {
        let begin = self.env.iter().rposition(|binding| binding.name.is_empty());
        Rc::make_mut(&mut self.env).truncate(begin.unwrap_or_default());
    }

    /// Moves the value onto the stack.
    pub(super) fn push(&mut self) {
        let value = std::mem::replace(&mut self.value, Value::Unknown);
        self.stack.push(value);
    }

    /// Takes a value from the stack.
    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Unknown)
    }
}
