//! Messages for flows of other shards, at a shard's end of the wire.

use cora_core::message::{ELSEWHERE, SENT};
use cora_core::packet::Meta;
use cora_runtime::link::message::{Control, Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;

/// So many messages wait for a shard before further ones for it are dropped.
const MOST: usize = 1 << 16;

/// The messages that go to other shards, and those that came from them.
#[derive(Debug, Default)]
pub(crate) struct Crossing {
    /// There are other shards, and the program has messages.
    pub(crate) is_on: bool,
    /// Those that leave.
    pub(crate) leaving: Vec<(Stamp, Vec<u8>)>,
    /// Number of messages that came, and of those among them for which there was no room.
    pub(crate) came: u64,
    pub(crate) refused: u64,
    /// The latest question that the shard answered.
    pub(crate) answered: u64,
}

impl Crossing {
    /// Takes a frame that leaves if it is a message for another shard. `false`: it is a packet.
    #[inline]
    pub(crate) fn takes(&mut self, stamp: &Stamp, frame: &[u8]) -> bool {
        let goes = self.is_on && stamp.leaves_at() == ELSEWHERE;
        if goes {
            self.leaving.push((*stamp, frame.to_vec()));
        }
        goes
    }

    /// Takes a record that is no frame if it is an answer.
    pub(crate) fn hears(&mut self, kind: u16, bytes: &[u8]) -> bool {
        if !self.is_on || kind != Kind::Quiet {
            return false;
        }
        let Some(Message::Control(Control::Quiet { wave })) = Message::decode(kind, bytes) else {
            return false;
        };
        self.answered = wave;
        true
    }

    /// A message comes for this shard, before which so many records wait. `false`: there is no
    /// room.
    pub(crate) const fn comes(&mut self, waiting: usize) -> bool {
        self.came += 1;
        self.refused += (waiting >= MOST) as u64;
        waiting < MOST
    }
}

/// The stamp of a message as an arrival: a half may have written anything, and no time is later
/// than the wire's.
pub(crate) fn arrival(stamp: &Stamp, latest: u64) -> Stamp {
    let Meta { time, now, .. } = stamp.meta;
    let (time, now) = (time.min(latest), now.min(latest));
    let meta = Meta { time, now, port: SENT, ..Meta::default() };
    let number = stamp.number;
    Stamp { meta, number, horizon: now, egress: SENT, parked: Parked::NONE, missing: 0 }
}

#[cfg(test)]
mod tests {
    use cora_core::packet::Port;

    use super::*;

    fn stamp(egress: Port, now: u64) -> Stamp {
        let meta = Meta { time: now, now, port: SENT, ..Meta::default() };
        Stamp { meta, number: 7, horizon: 3, egress, parked: Parked::NONE, missing: 9 }
    }

    #[test]
    fn a_message_for_another_shard_is_no_packet_that_leaves() {
        let mut crossing = Crossing { is_on: true, ..Crossing::default() };
        assert!(!crossing.takes(&stamp(Port(1), 5), b"packet"));
        assert!(crossing.takes(&stamp(ELSEWHERE, 5), b"message"));
        assert_eq!(crossing.leaving, [(stamp(ELSEWHERE, 5), b"message".to_vec())]);
        // Where there is no other shard, such a port is one that the run does not have.
        assert!(!Crossing::default().takes(&stamp(ELSEWHERE, 5), b"message"));
    }

    #[test]
    fn no_message_comes_from_the_future() {
        let late = arrival(&stamp(ELSEWHERE, u64::MAX), 50);
        assert_eq!((late.meta.time, late.meta.now, late.horizon), (50, 50, 50));
        let past = arrival(&stamp(ELSEWHERE, 20), 50);
        assert_eq!((past.meta.now, past.horizon, past.missing), (20, 20, 0));
        assert_eq!((past.meta.port, past.number), (SENT, 7));
    }

    #[test]
    fn messages_that_a_shard_does_not_take_are_bounded_and_counted() {
        let mut crossing = Crossing { is_on: true, ..Crossing::default() };
        assert!(crossing.comes(0) && crossing.comes(MOST - 1));
        assert!(!crossing.comes(MOST));
        assert_eq!((crossing.came, crossing.refused), (3, 1));
    }

    #[test]
    fn answers_are_heard_only_where_somebody_asked() {
        let message = Message::from(Control::Quiet { wave: 4 });
        let (kind, bytes) = message.encode(|kind, parts| (kind, parts.concat()));
        let mut crossing = Crossing { is_on: true, ..Crossing::default() };
        assert!(!crossing.hears(kind, &bytes[..3]), "cut");
        assert!(!crossing.hears(Kind::Begin.number(), &[]));
        assert_eq!(crossing.answered, 0);
        assert!(crossing.hears(kind, &bytes));
        assert_eq!(crossing.answered, 4);
        assert!(!Crossing::default().hears(kind, &bytes));
    }
}
