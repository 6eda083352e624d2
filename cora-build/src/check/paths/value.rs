//! The abstract domain: what is known of a value on one path.

use std::rc::Rc;

use cora_plan::graph::Exit;

use super::way::Names;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// Nothing.
    Unknown,
    /// It is this.
    Bool(bool),
    /// `Some` or `Ok`; with how the packet goes on, where it is a verdict that shows it.
    Succeeds(Option<Exit>),
    /// `None` or `Err`.
    Fails,
    /// `Forward::Transmit` and its siblings.
    Forward(Exit),
    /// A reference to a state.
    State(Lent),
    /// A state itself, behind such a reference: `*ports`.
    Whole(Lent),
    /// A place within a state: `ports.free[3]`.
    Part(Lent),
    /// A closure.
    Closure(Rc<Closure>),
    /// Something that may run this closure when it is used: an iterator that maps by it.
    Lazy(Rc<Closure>),
    /// A function of the program, by number.
    Function(usize),
}

/// A state in someone's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lent {
    /// Which one, by the handler's parameters.
    pub(super) state: usize,
    /// Whether it can be changed through this.
    pub(super) mutable: bool,
}

/// A closure with what it saw when it was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closure {
    /// Its expression, by number.
    pub(super) site: usize,
    /// Names around it.
    pub(super) env: Names,
}

impl Value {
    /// How a handler ends that returns this.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Succeeds(Some(exit)) => *exit,
            Self::Fails => Exit::Drop,
            _ => Exit::Unseen,
        }
    }

    /// The state that this is, or is behind.
    pub(super) fn lent(&self) -> Option<Lent> {
        match self {
            Self::State(lent) | Self::Whole(lent) => Some(*lent),
            _ => None,
        }
    }

    /// A place within this.
    pub(super) fn part(&self) -> Self {
        match self {
            Self::State(lent) | Self::Whole(lent) | Self::Part(lent) => Self::Part(*lent),
            _ => Self::Unknown,
        }
    }

    /// The closure that using this may run.
    pub(super) fn closure(&self) -> Option<&Rc<Closure>> {
        match self {
            Self::Closure(closure) | Self::Lazy(closure) => Some(closure),
            _ => None,
        }
    }

    /// Whether it was learned on the way, by a condition: forgetting it makes paths more, never
    /// wrong.
    pub(super) fn is_learned(&self) -> bool {
        matches!(self, Self::Bool(_) | Self::Succeeds(_) | Self::Fails | Self::Forward(_))
    }
}
