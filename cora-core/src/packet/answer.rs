//! Turns a packet back to its sender: a middlebox answers in the name of the other end.

use super::Headers;
use super::Query;
use super::flow::End;
use crate::verdict::Reason;
use crate::verdict::reasons::NoFlow;

/// Nobody answers such a packet: its source or destination is a group, or its source route has
/// stops left.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NotAnswered)`")]
pub const NotAnswered: Reason = Reason::new("not-answered");

/// Hop limit of an answer.
pub(super) const FRESH_TTL: u8 = 64;

impl Headers<'_> {
    /// Turns the packet back: swaps Ethernet addresses, IP addresses and ports, and sets the hop
    /// limit to 64. The payload stays; see [`set_tcp`](super::Packet::set_tcp). Redirect it to the
    /// port where it came in: `Redirect(packet.port())`. Correct checksums stay correct. A question
    /// of ICMP, an echo request for instance, becomes its answer.
    ///
    /// Refused with the reason that [`flow`](Self::flow) gives, `no-flow` if it has neither two
    /// ports nor a question, or [`NotAnswered`]. The packet is then unchanged.
    pub fn turn_back(&mut self) -> Result<(), Reason> {
        let flow = self.flow()?;
        let layers = self.layers();
        let outer = layers.outer;
        let asks = outer.identifier && self.icmp_query() == Some(Query::Question);
        if layers.inner.ip != 0 || outer.identifier && !asks {
            return Err(NoFlow);
        }
        let (from, to) = (self.mac_source()?, self.mac_destination()?);
        let of_many = (from[0] | to[0]) & 1 == 1;
        if outer.routed || of_many || flow.source.is_group() || flow.destination.is_group() {
            return Err(NotAnswered);
        }
        self.set_mac_source(to)?;
        self.set_mac_destination(from)?;
        // Checksums don't depend on the order of addresses and ports.
        let at = |end| layers.version.address_at(&outer, end);
        let length = if self.is_ipv4() { 4 } else { 16 };
        self.swap(at(End::Source), at(End::Destination), length);
        if asks {
            self.answer_question(outer.transport.into(), outer.sum.into());
        } else {
            let ports = usize::from(outer.ports);
            self.swap(ports, ports + 2, 2);
        }
        self.set_ttl(FRESH_TTL);
        self.parse_again();
        Ok(())
    }

    /// Writes the answer's type into an ICMP message with a question.
    fn answer_question(&mut self, message: usize, sum: usize) {
        let [kind, code] = self.read(message);
        let answer = match (self.is_ipv4(), kind) {
            (true, 8) => 0,
            (true, 13) => 14,
            _ => 129,
        };
        let change = self.replace(message, &[answer, code]);
        self.apply(sum, change);
    }

    /// Swaps two fields of the same length; the parse found both within the frame.
    fn swap(&mut self, first: usize, second: usize, length: usize) {
        for at in 0..length {
            let [a] = self.read(first + at);
            let [b] = self.read(second + at);
            self.put(first + at, &[b]);
            self.put(second + at, &[a]);
        }
    }
}
