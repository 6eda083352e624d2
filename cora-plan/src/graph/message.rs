//! The messages of a program, and the handlers that take them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Field, Graph, HandlerNode, SourcePlace};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageNode {
    /// Name of its type.
    pub name: String,
    /// Path of its type.
    pub path: String,
    /// Place of its declaration.
    pub at: SourcePlace,
    /// Type of its key: the last word of its path; `None` if each message is a flow of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its wire form, if it comes or leaves in datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireForm>,
    /// Its fields, in order; those of an enum with the variant in front: `Add::by`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// How a message stands in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireForm {
    /// The program reads and writes it itself.
    pub parse: bool,
    /// The port that its datagrams are for; any port without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A message that a path sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its type.
    pub message: String,
    /// Where it goes.
    pub how: How,
    /// Any number of them: it is in a loop or closure, or paths were merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub many: bool,
    /// The source shows that its key is that of the message that the handler takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_key: bool,
    /// Its place.
    pub at: SourcePlace,
}

/// Where a sent message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// `send`: to the handler that takes it, at once.
    Send,
    /// `after`: to the handler that takes it, later.
    After,
    /// `reply`: in a datagram to whoever asks.
    Reply,
    /// `send_to`: in a datagram to someone else.
    SendTo,
    /// The outbox is handed on: any of these.
    Unseen,
}

impl How {
    /// As an edge of the graph.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Send => "sends",
            Self::After => "sends later",
            Self::Reply => "replies",
            Self::SendTo => "sends out",
            Self::Unseen => "may send",
        }
    }

    /// Whether it goes to the handler that takes it.
    pub const fn is_to_taker(self) -> bool {
        matches!(self, Self::Send | Self::After)
    }

    /// Whether the message may stay inside.
    pub const fn stays(self) -> bool {
        matches!(self, Self::Send | Self::After | Self::Unseen)
    }

    /// Whether the message may leave in a datagram.
    pub const fn leaves(self) -> bool {
        matches!(self, Self::Reply | Self::SendTo | Self::Unseen)
    }
}

impl Graph {
    /// The handlers that take a message, each with it, in the order of the chain.
    pub fn takers(&self) -> impl Iterator<Item = (&HandlerNode, &MessageNode)> {
        self.chain
            .iter()
            .filter_map(|handler| Some((handler, self.message(handler.takes.as_ref()?)?)))
    }

    /// The handlers that take packets.
    pub fn of_packets(&self) -> impl Iterator<Item = &HandlerNode> {
        self.chain.iter().filter(|handler| handler.takes.is_none())
    }

    /// Whether packets go through a chain of handlers, be it an empty one.
    pub fn has_chain(&self) -> bool {
        self.messages.is_empty() || self.of_packets().next().is_some()
    }

    /// Whether a message comes in datagrams.
    pub fn comes_in(&self, message: &MessageNode) -> bool {
        message.wire.is_some() && self.takers().any(|(_, taken)| taken.name == message.name)
    }

    /// Whether a message may leave in datagrams.
    pub fn goes_out(&self, message: &MessageNode) -> bool {
        message.wire.is_some()
            && self.sendings().iter().any(|it| it.message == message.name && it.leaves())
    }

    /// Whether the program takes messages.
    pub fn takes_messages(&self) -> bool {
        self.takers().next().is_some()
    }

    /// Whether a handler, hook or timer may send a message that a handler takes.
    pub fn sends_itself(&self) -> bool {
        let mut functions = self.chain.iter().chain(self.timed());
        functions.any(|function| function.outboxes.iter().any(|sent| self.taker(sent).is_some()))
    }

    /// The handler that takes the message with this name, with its number in the chain.
    pub fn taker(&self, message: &str) -> Option<(usize, &HandlerNode)> {
        let mut chain = self.chain.iter().enumerate();
        chain.find(|(_, handler)| handler.takes.as_deref() == Some(message))
    }

    /// The message with this name.
    pub fn message(&self, name: &str) -> Option<&MessageNode> {
        self.messages.iter().find(|message| message.name == name)
    }

    /// The types of the keys of messages that handlers take, sorted: a flow is told by its place
    /// here, and by its key.
    pub fn flow_keys(&self) -> Vec<&str> {
        let keys: BTreeSet<&str> =
            self.takers().filter_map(|(_, message)| message.key.as_deref()).collect();
        keys.into_iter().collect()
    }
}
