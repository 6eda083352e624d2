//! The messages of a program, and the handlers that take them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Graph, HandlerNode, SourcePlace};

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

impl Graph {
    /// The handlers that take a message, each with it, in the order of the chain.
    pub fn takers(&self) -> impl Iterator<Item = (&HandlerNode, &MessageNode)> {
        self.chain
            .iter()
            .filter_map(|handler| Some((handler, self.message(handler.takes.as_ref()?)?)))
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

    /// The handler that takes the message with this name.
    fn taker(&self, message: &str) -> Option<&HandlerNode> {
        self.chain.iter().find(|handler| handler.takes.as_deref() == Some(message))
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
