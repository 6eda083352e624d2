//! For tests of one side's flows alone: the messages that it sent, and entries for it to receive.

use cora_core::app::{States as _, Transaction as _};
use cora_core::key::FiveTuple;
use cora_core::plain::Plain as _;
use cora_core::state::Visit;
use cora_core::state::table::prefetch::ALONE;

use super::counts::{Count, app};
use super::halves_support::{flow, memory};
use crate::channel::PeerOutbox;
use crate::link::message::{Kind, Message, Ownership};

/// The messages that a side sent.
#[derive(Debug, Default)]
pub(crate) struct Said {
    messages: Vec<(u16, Vec<u8>)>,
    /// Entries that it promised to send and has not sent yet.
    pub(crate) promised: i64,
}

impl PeerOutbox for Said {
    fn send(&mut self, message: &Message<'_>) {
        match message {
            Message::Ownership(Ownership::Release { entries, .. }) => {
                self.promised += i64::from(*entries);
            }
            Message::Ownership(Ownership::Entry { .. } | Ownership::Vanished {}) => {
                self.promised -= 1;
            }
            _ => {}
        }
        message.encode(|kind, parts| self.messages.push((kind, parts.concat())));
    }
}

impl Said {
    /// The kinds of the messages since the last call.
    pub(crate) fn take(&mut self) -> Vec<Kind> {
        self.messages.drain(..).map(|(kind, _)| Kind::of(kind).expect("it has a kind")).collect()
    }

    /// The last message, in words.
    pub(crate) fn last(&self) -> String {
        let (kind, bytes) = self.messages.last().expect("something was said");
        format!("{:?}", Message::decode(*kind, bytes).expect("it can be decoded"))
    }
}

/// The encoded group key of the flow with this port.
pub(crate) fn group(port: u16) -> Vec<u8> {
    let mut bytes = vec![0; FiveTuple::SIZE];
    flow(port).put(&mut bytes);
    bytes
}

/// An encoded entry with the key of the flow with this port, last used at `used`.
pub(crate) fn entry(port: u16, used: u64) -> Vec<u8> {
    let mut app = app();
    let table = app.state(0).as_travelling().expect("its entries travel");
    table.attach(&mut memory(table.attached_bytes(1)), 1).expect("there is memory");
    app.begin(Visit { now: used, horizon: used, undo: false, flow: 0, ahead: ALONE });
    app.counts.insert(flow(port), Count(port.into())).expect("there is room");
    app.commit(false);
    let mut piece = Vec::new();
    let table = app.state(0).as_travelling().expect("its entries travel");
    table.take_out(0, used, 1, &mut |bytes| piece = bytes.to_vec());
    piece
}
