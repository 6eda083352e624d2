//! Fragmented packets in transit: later fragments use the ports of the first one.
//!
//! Keep this in a state with an address as its key, which all fragments carry: they then have one
//! owner together with the other packets of their flow. Beside a state keyed by ports, such a state
//! groups flows by the address.

use super::{IpFragment, Packet};
use crate::key::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use crate::key::{Address, FiveTuple};
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;
use crate::verdict::reasons::Fragment;

/// How long later fragments may follow the first one (ns), as in Linux.
const LIFE: u64 = 30_000_000_000;
/// A first fragment of TCP with less payload has its flags in the second (RFC 1858, 3).
const LEAST_TCP: usize = 20;
/// Offset of a TCP fragment that would overwrite the flags (RFC 3128, 2.1).
const OVER_FLAGS: u16 = 8;

/// A fragmented packet with a known first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Datagram {
    flow: FiveTuple,
    identification: u32,
    /// Expiry time (ns); 0 for an unused slot.
    until: u64,
}

/// The last `N` fragmented packets with a known first fragment; `N` is at least one.
///
/// ```
/// use cora_core::packet::{Datagrams, Meta, Packet};
/// use cora_core::verdict::reasons::NotIp;
///
/// let mut datagrams = Datagrams::<8>::default();
/// let mut frame = [0; 60];
/// let packet = Packet::new(&mut frame, Meta::default());
/// // As `packet.five_tuple()`, but of fragments too, once their first one was here.
/// assert_eq!(datagrams.five_tuple(&packet), Err(NotIp));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams<const N: usize> {
    known: [Datagram; N],
    /// The next slot to fill.
    next: u8,
}

impl<const N: usize> Default for Datagrams<N> {
    fn default() -> Self {
        const { assert!(N > 0 && N < 256, "from 1 to 255 packets under way") };
        Self { known: [Datagram::default(); N], next: 0 }
    }
}

impl<const N: usize> Datagrams<N> {
    /// The flow of a packet. For a whole packet, as [`five_tuple`](super::Headers::five_tuple); for
    /// a fragment, the flow of the packet that it is a part of. The first fragment, which has the
    /// ports, is remembered for 30 s of packet time.
    ///
    /// Refused as there. Refused with `fragment` if the first fragment is unknown, repeats with
    /// different ports, or is too short for the ports (for TCP: the flags), and if a TCP fragment
    /// would overwrite the flags.
    pub fn five_tuple(&mut self, packet: &Packet<'_>) -> Result<FiveTuple, Reason> {
        let Some(IpFragment { identification, offset, .. }) = packet.fragment() else {
            return packet.five_tuple();
        };
        let ends = [packet.source()?, packet.destination()?];
        let protocol = packet.protocol()?;
        let now = packet.now();
        let found = self.known.iter().find(|it| {
            it.until >= now.max(1)
                && it.identification == identification
                && it.flow.protocol == protocol
                && [it.flow.source, it.flow.destination] == ends
        });
        let found = found.map(|it| it.flow);
        if offset != 0 {
            let overwrites = protocol == TCP && offset <= OVER_FLAGS;
            return found.filter(|_| !overwrites).ok_or(Fragment);
        }
        let flow = first_flow(packet, ends, protocol).ok_or(Fragment)?;
        match found {
            Some(before) if before == flow => {}
            // Which of the two the receiver accepts is unknown.
            Some(_) => return Err(Fragment),
            None => {
                let until = now.saturating_add(LIFE);
                self.remember(Datagram { flow, identification, until });
            }
        }
        Ok(flow)
    }

    fn remember(&mut self, datagram: Datagram) {
        let place = usize::from(self.next) % N.max(1);
        if let Some(place) = self.known.get_mut(place) {
            *place = datagram;
        }
        self.next = ((place + 1) % N.max(1)) as u8;
    }
}

/// The flow of the packet that this first fragment belongs to.
fn first_flow(
    packet: &Packet<'_>,
    [source, destination]: [Address; 2],
    protocol: u8,
) -> Option<FiveTuple> {
    let head: &[u8; 8] = packet.payload().first_chunk()?;
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let ports = match (protocol, head[0]) {
        (TCP, _) if packet.payload().len() < LEAST_TCP => return None,
        (TCP | UDP | SCTP, _) => (number(0), number(2)),
        // Queries and replies, matched by identifier as in whole packets.
        (ICMP, 0 | 8 | 13 | 14) | (ICMPV6, 128 | 129) => (number(4), number(4)),
        _ => return None,
    };
    let (source_port, destination_port) = ports;
    Some(FiveTuple { source, destination, source_port, destination_port, protocol })
}

impl Plain for Datagram {
    const SIZE: usize = FiveTuple::SIZE + 12;
    fn put(&self, out: &mut [u8]) {
        let Some(out) = out.first_chunk_mut::<{ FiveTuple::SIZE + 12 }>() else { return };
        let (flow, rest) = out.split_at_mut(FiveTuple::SIZE);
        self.flow.put(flow);
        let (identification, until) = rest.split_at_mut(4);
        self.identification.put(identification);
        self.until.put(until);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            flow: FiveTuple::get(bytes)?,
            identification: u32::get(bytes.get(FiveTuple::SIZE..)?)?,
            until: u64::get(bytes.get(FiveTuple::SIZE + 4..)?)?,
        })
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("flow");
        self.flow.describe(to);
        to.field("identification");
        self.identification.describe(to);
        to.field("until");
        self.until.describe(to);
        to.close();
    }
}

impl<const N: usize> Plain for Datagrams<N> {
    const SIZE: usize = <[Datagram; N]>::SIZE + 1;
    fn put(&self, out: &mut [u8]) {
        let Some((known, next)) = out.split_at_mut_checked(<[Datagram; N]>::SIZE) else { return };
        self.known.put(known);
        self.next.put(next);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let (known, next) = bytes.split_at_checked(<[Datagram; N]>::SIZE)?;
        let next = u8::get(next).filter(|next| usize::from(*next) < N)?;
        Some(Self { known: <[Datagram; N]>::get(known)?, next })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.known.describe(to);
    }
}
