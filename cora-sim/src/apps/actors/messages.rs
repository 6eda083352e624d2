//! The messages: words, of which the first is the number of the receiver, and the second is an id
//! that no other message has. The id is made of that of the message that caused it, so it does not
//! depend on states.

use cora_core::key::One;
use cora_core::message::{Message, Taken, Wired, read_short};
use cora_core::plain::{Describe, Plain};
use cora_core::short::ShortWriter;
use cora_core::verdict::Reason;

/// Words of a message.
pub(super) const WORDS: usize = 4;

/// Makes an id of that of the cause, and of the place among its effects.
pub(super) const fn mixed(id: u64, place: u64) -> u64 {
    let mixed = (id ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x1234_5678_9abc);
    let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 29
}

macro_rules! message {
    ($(#[$meta:meta])* $name:ident by $key:ty, $keyed:literal, $of:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name(pub(super) [u64; WORDS]);

        impl Plain for $name {
            const SIZE: usize = WORDS * 8;
            fn put(&self, out: &mut [u8]) {
                self.0.put(out);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                <[u64; WORDS]>::get(bytes).map(Self)
            }
            fn describe(&self, to: &mut dyn Describe) {
                self.0.describe(to);
            }
        }

        impl Message for $name {
            const NAME: &'static str = stringify!($name);
            type Key = $key;
            const KEYED: bool = $keyed;
            fn key(&self) -> $key {
                $of(self.0)
            }
            fn of_datagram(datagram: &[u8]) -> Result<Self, Reason> {
                read_short(datagram)
            }
        }

        impl Taken for $name {}
    };
}

message!(
    /// A datagram: the sender's number, the id, the request, and its argument.
    Go by u64, true, |words: [u64; WORDS]| words[0]
);
message!(
    /// Something to hear: the receiver, the id, the sender, and the task.
    Word by u64, true, |words: [u64; WORDS]| words[0]
);
message!(
    /// The same, of another class, which is heavy.
    Sum by u64, true, |words: [u64; WORDS]| words[0]
);
message!(
    /// The same, to the only tally.
    All by One, true, |_| One
);
message!(
    /// A message without a key: the packet's number stands in place of a receiver.
    Loose by One, false, |_| One
);
message!(
    /// A message that is due later, and may send itself again.
    Later by u64, true, |words: [u64; WORDS]| words[0]
);

/// An answer in a datagram: its flow, its number, and a digest of the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) flow: u32,
    pub(super) number: u32,
    pub(super) id: u64,
    pub(super) hash: u64,
}

impl Plain for Answer {
    const SIZE: usize = 24;
    fn put(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.flow.to_be_bytes());
        out[4..8].copy_from_slice(&self.number.to_be_bytes());
        [self.id, self.hash].put(&mut out[8..]);
    }
    fn get(_: &[u8]) -> Option<Self> {
        None
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.hash.describe(to);
    }
}

impl Message for Answer {
    const NAME: &'static str = "Answer";
    type Key = One;
    const KEYED: bool = false;
    fn key(&self) -> One {
        One
    }
}

impl Wired for Answer {
    fn write(&self, out: &mut ShortWriter<'_>) {
        let mut bytes = [0; Self::SIZE];
        self.put(&mut bytes);
        out.put(&bytes);
    }
}
