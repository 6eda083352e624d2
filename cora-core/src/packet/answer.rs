//! A packet turned back to who sent it: the answer of a box in the middle, which speaks for the
//! other end.

use super::Headers;
use super::flow::End;
use crate::verdict::Reason;
use crate::verdict::reasons::NoFlow;

/// Nobody answers such a packet: it is for or from many, or has stops left of a source route.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NotAnswered)`")]
pub const NotAnswered: Reason = Reason::new("not-answered");

/// Hops that an answer may take.
const FRESH_TTL: u8 = 64;

impl Headers<'_> {
    /// Turns the packet back: Ethernet addresses, IP addresses and ports change places, and it has
    /// all of 64 hops to go. What it carries stays, see [`set_tcp`](super::Packet::set_tcp); it is
    /// for the port it came from then: `Redirect(packet.port())`. Every checksum that was right is
    /// right.
    ///
    /// Refused with the reason that [`flow`](Self::flow) gives, `no-flow` when it has not two
    /// ports, and [`NotAnswered`]; then nothing has changed.
    pub fn turn_back(&mut self) -> Result<(), Reason> {
        let flow = self.flow()?;
        let layers = self.layers();
        let outer = layers.outer;
        if layers.inner.ip != 0 || outer.identifier {
            return Err(NoFlow);
        }
        let (from, to) = (self.mac_source()?, self.mac_destination()?);
        let of_many = (from[0] | to[0]) & 1 == 1;
        if outer.routed || of_many || flow.source.is_group() || flow.destination.is_group() {
            return Err(NotAnswered);
        }
        self.set_mac_source(to)?;
        self.set_mac_destination(from)?;
        // No sum of addresses and ports knows their order.
        let at = |end| layers.version.address_at(&outer, end);
        let length = if self.is_ipv4() { 4 } else { 16 };
        self.swap(at(End::Source), at(End::Destination), length);
        let ports = usize::from(outer.ports);
        self.swap(ports, ports + 2, 2);
        self.set_ttl(FRESH_TTL);
        self.parse_again();
        Ok(())
    }

    /// Two fields of the same length change places; the parse found both within the frame.
    fn swap(&mut self, first: usize, second: usize, length: usize) {
        for at in 0..length {
            let [a] = self.read(first + at);
            let [b] = self.read(second + at);
            self.put(first + at, &[b]);
            self.put(second + at, &[a]);
        }
    }
}
