//! Subjects of advice, and their standing in a plan.

use thiserror::Error;

use crate::graph::Graph;
use crate::nearest::nearest;
use crate::optimise::Planned;
use crate::traffic::Traffic;
use crate::vocabulary::{Place, Sides};

/// Something that a plan decides on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A state, by name.
    State(String),
    /// A handler, by name.
    Handler(String),
    /// A class of flows: its index among the classes of the plan's key, and its name.
    Class(usize, String),
}

/// Standing of a subject in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A state's place.
    At(Place),
    /// A handler runs at the host alone.
    HostAlone,
    /// A handler runs on the side that owns the packet's flow.
    EitherSide,
    /// A handler runs at the NIC alone.
    NicAlone,
    /// The NIC owns none of a class's flows.
    NoneOwned,
    /// The NIC owns some of them.
    SomeOwned,
    /// The NIC owns all of them.
    AllOwned,
}

/// The plan has no subject of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` is not a state, handler or flow class of `{app}`; there are: {}", known.join(", "))]
pub struct UnknownSubject {
    /// The name.
    pub name: String,
    /// Name of the program.
    pub app: String,
    /// The nearest known name.
    pub near: Option<String>,
    /// All names.
    pub known: Vec<String>,
}

impl Subject {
    /// Finds the subject of this name, ignoring case. States come first, then handlers, then
    /// classes. The name of a class may lack its `the`.
    pub fn find(
        name: &str,
        graph: &Graph,
        traffic: &Traffic,
        group: &str,
    ) -> Result<Self, UnknownSubject> {
        let all = Self::all(graph, traffic, group);
        let wanted = plain(name);
        if let Some(found) = all.iter().find(|subject| plain(subject.name()) == wanted) {
            return Ok(found.clone());
        }
        let known: Vec<String> = all.iter().map(|subject| subject.name().to_owned()).collect();
        let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(UnknownSubject { name: name.to_owned(), app: graph.app.clone(), near, known })
    }

    /// All subjects.
    pub fn all(graph: &Graph, traffic: &Traffic, group: &str) -> Vec<Self> {
        let states = graph.states.iter().map(|state| Self::State(state.name.clone()));
        let handlers = graph.chain.iter().map(|handler| Self::Handler(handler.name.clone()));
        let classes = traffic.classes(group).iter().enumerate();
        let classes = classes.map(|(number, class)| Self::Class(number, class.name.clone()));
        states.chain(handlers).chain(classes).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::State(name) | Self::Handler(name) | Self::Class(_, name) => name,
        }
    }

    /// Its kind with an article: `the state`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::State(_) => "the state",
            Self::Handler(_) => "the handler",
            Self::Class(..) => "the flow class",
        }
    }

    /// A standing of it as a predicate. A handler of messages runs at the side of its message's
    /// flow, if the message has one.
    pub fn words(&self, graph: &Graph, standing: Standing) -> &'static str {
        let Self::Handler(name) = self else { return standing.words() };
        let taken = graph.takers().find(|(node, _)| node.name == *name);
        match (standing, taken.map(|(_, message)| message.key.as_deref())) {
            (Standing::EitherSide, Some(None)) => {
                "runs where its message comes or is sent, as each is a flow of its own"
            }
            (Standing::EitherSide, Some(Some("One"))) => {
                "runs at the side that owns the one flow of its messages"
            }
            (Standing::EitherSide, Some(Some(_))) => {
                "runs at the side that owns its message's flow"
            }
            _ => standing.words(),
        }
    }

    /// Its standing in a plan.
    pub fn standing(&self, planned: &Planned) -> Standing {
        let allocation = &planned.allocation;
        match self {
            Self::State(_) if allocation.sides == Sides::HostOnly => Standing::At(Place::Host),
            Self::State(name) => {
                Standing::At(allocation.places.get(name).copied().unwrap_or(Place::Host))
            }
            Self::Handler(name) => match allocation.sides {
                Sides::HostOnly => Standing::HostAlone,
                Sides::NicOnly => Standing::NicAlone,
                Sides::Split if allocation.host_handlers.contains(name) => Standing::HostAlone,
                Sides::Split | Sides::Dealt => Standing::EitherSide,
            },
            Self::Class(number, _) => match allocation.sides {
                Sides::HostOnly => Standing::NoneOwned,
                Sides::NicOnly => Standing::AllOwned,
                Sides::Split | Sides::Dealt => {
                    owned(allocation.shares.get(*number).copied().unwrap_or(0.0))
                }
            },
        }
    }
}

/// The standing for a share. A share below the tolerance counts as 0.
fn owned(share: f64) -> Standing {
    const NOTHING: f64 = 1e-6;
    if share < NOTHING {
        Standing::NoneOwned
    } else if share > 1.0 - NOTHING {
        Standing::AllOwned
    } else {
        Standing::SomeOwned
    }
}

/// A name without the parts that users leave out.
fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(',', "");
    name.strip_prefix("the ").unwrap_or(&name).to_owned()
}

impl Standing {
    /// A predicate to follow a name: `Session` *travels with its flows*.
    pub fn words(self) -> &'static str {
        match self {
            Self::At(Place::Travels) => "travels with its flows",
            Self::At(Place::Nic) => "stays at the NIC",
            Self::At(Place::Host) => "stays at the host",
            Self::At(Place::Replica) => "has a replica on each side",
            Self::At(Place::Divided) => "is divided by bucket",
            Self::At(Place::Fetched) => {
                "stays at the host, and the NIC fetches copies of its items"
            }
            Self::HostAlone => "runs at the host alone",
            Self::EitherSide => "runs at the side that owns the packet's flow",
            Self::NicAlone => "runs at the NIC alone",
            Self::NoneOwned => "is owned by the host",
            Self::SomeOwned => "is owned by NIC and host in parts",
            Self::AllOwned => "is owned by the NIC",
        }
    }
}
