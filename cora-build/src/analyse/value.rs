//! The abstract domain: knowledge of a value on one way.

use std::rc::Rc;

use cora_plan::graph::Exit;

use super::way::Names;

/// Knowledge of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// Nothing is known.
    Unknown,
    /// This boolean.
    Bool(bool),
    /// `Some` or `Ok`; with the exit of the packet, if it is a verdict that shows it.
    Succeeds(Option<Exit>),
    /// `None` or `Err`.
    Fails,
    /// `Forward::Transmit` and its siblings.
    Forward(Exit),
    /// A reference to a state.
    State(Lent),
    /// A state itself, by dereferencing such a reference: `*ports`.
    Whole(Lent),
    /// A place within a state: `ports.free[3]`.
    Part(Lent),
    /// A reference to the outbox for messages with this index.
    Outbox(usize),
    /// A closure.
    Closure(Rc<Closure>),
    /// A value that may run this closure when it is used: for example a mapping iterator.
    Lazy(Rc<Closure>),
    /// A function of the program, by index.
    Function(usize),
}

/// A borrowed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lent {
    /// Its index among the handler's parameters.
    pub(super) state: usize,
    /// Whether the borrow is mutable.
    pub(super) mutable: bool,
}

/// A closure with its captured environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closure {
    /// Its expression, by index.
    pub(super) site: usize,
    /// Names in scope at its creation.
    pub(super) env: Names,
}

impl Value {
    /// The exit of a handler that returns this value.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Succeeds(Some(exit)) => *exit,
            Self::Fails => Exit::Drop,
            _ => Exit::Unseen,
        }
    }

    /// The state that this value is or refers to.
    pub(super) fn lent(&self) -> Option<Lent> {
        match self {
            Self::State(lent) | Self::Whole(lent) => Some(*lent),
            _ => None,
        }
    }

    /// A place within this value.
    pub(super) fn part(&self) -> Self {
        match self {
            Self::State(lent) | Self::Whole(lent) | Self::Part(lent) => Self::Part(*lent),
            _ => Self::Unknown,
        }
    }

    /// The closure that a use of this value may run.
    pub(super) fn closure(&self) -> Option<&Rc<Closure>> {
        match self {
            Self::Closure(closure) | Self::Lazy(closure) => Some(closure),
            _ => None,
        }
    }

    /// Whether a condition taught it on this way. Forgetting it adds paths, but stays sound.
    pub(super) fn is_learned(&self) -> bool {
        matches!(self, Self::Bool(_) | Self::Succeeds(_) | Self::Fails | Self::Forward(_))
    }
}
