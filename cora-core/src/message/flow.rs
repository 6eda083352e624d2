//! The key of flows in a program that takes messages: the key of the message, and of which type it
//! is.

use core::fmt;
use core::marker::PhantomData;

use crate::key::{Key, PacketKey};
use crate::packet::Packet;
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;
use crate::verdict::reasons::NoFlow;

/// A program that takes messages. Generated code implements it.
pub trait Flows: 'static {
    /// The flow of a packet: the number of its key's type, and the key's words. `None` if it
    /// belongs to no flow.
    fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])>;
}

/// The key of a flow of messages of the program `A`.
///
/// Messages of different types whose keys are of one type are of one flow if the keys are equal.
pub struct FlowOf<A> {
    words: [u64; 5],
    of: PhantomData<fn() -> A>,
}

/// Where the number of the key's type stands: no key's words need the last byte.
const NUMBER: u32 = 56;

impl<A> FlowOf<A> {
    const fn new(words: [u64; 5]) -> Self {
        Self { words, of: PhantomData }
    }
}

impl<A> Clone for FlowOf<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for FlowOf<A> {}

impl<A> PartialEq for FlowOf<A> {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl<A> Eq for FlowOf<A> {}

impl<A> fmt::Debug for FlowOf<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x?}", self.words)
    }
}

impl<A: 'static> Plain for FlowOf<A> {
    const SIZE: usize = 40;

    fn put(&self, out: &mut [u8]) {
        self.words.put(out);
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        <[u64; 5]>::get(bytes).map(Self::new)
    }

    /// The words without the zeroes behind them.
    fn describe(&self, to: &mut dyn Describe) {
        let [first, rest @ .., last] = self.words;
        let kind = last >> NUMBER;
        if rest == [0; 3] && last << (u64::BITS - NUMBER) == 0 {
            to.text(&format_args!("{kind}:{first}"));
        } else {
            to.text(&format_args!("{self:?}"));
        }
    }
}

impl<A: 'static> Key for FlowOf<A> {
    type Packed = [u64; 5];

    #[inline]
    fn pack(&self) -> [u64; 5] {
        self.words
    }

    #[inline]
    fn unpack(packed: &[u64; 5]) -> Self {
        Self::new(*packed)
    }

    /// A message has no direction.
    #[inline]
    fn reply(&self) -> Option<Self> {
        None
    }

    #[inline]
    fn words(&self) -> [u64; 5] {
        self.words
    }
}

impl<A: Flows> PacketKey for FlowOf<A> {
    #[inline]
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        let (number, [first, second, third, fourth, last]) = A::flow(packet).ok_or(NoFlow)?;
        let last = last | u64::from(number) << NUMBER;
        Ok(Self::new([first, second, third, fourth, last]))
    }
}
