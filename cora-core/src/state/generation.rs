//! The version of a read-mostly state that an entry was judged by.

use crate::plain::{Describe, Plain};

/// A version number. A read-mostly state has its own; an entry has that of the version that last
/// judged it.
///
/// The runtime sets a field of this type, directly in a `#[state(read_mostly)]`, whenever a version
/// takes effect; the value from `Configure` is ignored. A handler copies it to the entry that it
/// judges, and compares the two at the flow's next packet. If they differ, the rules may have
/// changed meanwhile.
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
/// The default is zero, which is never a version's number. So an entry that was never judged, such
/// as one from an older build without the field, is never up to date. Numbers continue across
/// restarts of a half and upgrades of the program. They are compared for equality, not ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation(u32);

impl Generation {
    /// The first version, made by the host.
    pub(crate) const FIRST: Self = Self(1);

    /// The generation with this number, for runtimes and for tests of handlers.
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
