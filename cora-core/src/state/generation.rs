//! The version of a read-mostly state that judged an entry.

use crate::plain::{Describe, Plain};

/// The number of a version: in a read-mostly state its own, in an entry that of the version that
/// the entry was last judged by.
///
/// A field of this type, directly in a `#[state(read_mostly)]`, is filled in by the runtime
/// whenever a version takes force; the value of `Configure` does not count. A handler copies it to
/// the entry that it judges, and compares the two at the flow's next packet: where they differ, the
/// rules may have changed meanwhile.
///
/// ```ignore
/// use cora::prelude::*;
///
/// #[state(read_mostly)]
/// #[derive(Default)]
/// struct Rules {
///     generation: Generation,
///     closed: u16,
/// }
///
/// impl Configure for Rules {
///     fn configure(text: &str) -> Result<Self, &'static str> {
///         let closed = text.trim().parse().map_err(|_| "write a port")?;
///         Ok(Self { closed, ..Self::default() })
///     }
/// }
///
/// #[state(key = FiveTuple, reply, capacity = 100, idle = "5m")]
/// struct Connection {
///     judged: Generation,
/// }
///
/// #[flow_handler]
/// fn guard(packet: &mut Packet, connections: &mut Table<Connection>, rules: &Rules) -> Verdict {
///     let flow = packet.five_tuple()?;
///     if connections.get(&flow).is_some_and(|known| known.judged == rules.generation) {
///         return Transmit;
///     }
///     if flow.destination_port == rules.closed || flow.source_port == rules.closed {
///         connections.remove(&flow);
///         return Drop(NotAllowed);
///     }
///     connections.insert(flow, Connection { judged: rules.generation })?;
///     Transmit
/// }
/// ```
///
/// Zero, its default, is no version's number: an entry that was never judged is never up to date,
/// such as one that an older build made, which lacked the field. Numbers go on when a half is
/// started anew and when the program is replaced. They are told apart, not ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation(u32);

impl Generation {
    /// That of the first version, which the host makes.
    #[cfg(not(target_os = "none"))]
    pub(crate) const FIRST: Self = Self(1);

    /// The generation with this number: for runtimes, and for tests of handlers.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl Plain for Generation {
    const SIZE: usize = 4;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        u32::get(bytes).map(Self)
    }

    fn begin_generation(&mut self, generation: Self) {
        *self = generation;
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}
