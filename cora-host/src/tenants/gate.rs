//! The gate of a tenant lets frames out: from its addresses to the outside, and to its addresses on
//! the inside. It answers in its server's name, and in nobody else's.

use cora_core::key::Endpoint;
use cora_core::packet::{Meta, Packet, Port};
use cora_runtime::link::message::Stamp;

use crate::RunError;
use crate::ingress::capture::Out;
use crate::ingress::ports::LiveWire;
use crate::tenants::book::{Fragments, servers_end};

/// The gate of a tenant, and its counts.
#[derive(Debug)]
pub(super) struct Gate {
    endpoints: Vec<Endpoint>,
    fragments: Box<Fragments>,
    frame: Vec<u8>,
    /// Frames that left at the inside and at the outside port.
    pub(super) left: [u64; 2],
    /// Frames that were refused.
    pub(super) refused: u64,
}

impl Gate {
    pub(super) fn of(endpoints: Vec<Endpoint>) -> Self {
        Self { endpoints, fragments: Box::default(), frame: Vec::new(), left: [0; 2], refused: 0 }
    }

    /// The tenant gets this frame. Fragments among them are those that it may send on.
    pub(super) fn sees(&mut self, frame: &mut [u8], meta: Meta) {
        let packet = Packet::new(frame, meta);
        if packet.is_fragment() {
            let _flow = self.fragments.five_tuple(&packet);
        }
    }

    /// Whether this frame may leave at this port.
    fn lets(&mut self, port: Port, stamp: &Stamp, frame: &[u8]) -> bool {
        if port != Port::INSIDE && port != Port::OUTSIDE {
            return false;
        }
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        // As if it had come from the other side.
        let meta = Meta { port: port.opposite(), ..stamp.meta };
        let end = servers_end(port == Port::OUTSIDE);
        let packet = Packet::new(&mut self.frame, meta);
        let flow = if packet.is_fragment() {
            // Only those that it got. Its own could be taken for a part of another packet of the
            // server's address.
            let mut seen = *self.fragments;
            seen.five_tuple(&packet).ok().filter(|_| seen == *self.fragments)
        } else {
            packet.five_tuple().ok()
        };
        flow.is_some_and(|flow| self.endpoints.contains(&flow.endpoint(end)))
    }
}

/// The ports behind a tenant's gate.
pub(super) struct Gated<'a> {
    pub(super) ports: &'a mut LiveWire,
    pub(super) gate: &'a mut Gate,
}

impl Out for Gated<'_> {
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        let port = stamp.leaves_at();
        if !self.gate.lets(port, stamp, frame) {
            self.gate.refused += 1;
            return Ok(());
        }
        if let Some(left) = self.gate.left.get_mut(usize::from(port.0)) {
            *left += 1;
        }
        self.ports.write(stamp, frame)
    }

    fn flush(&mut self) -> Result<(), RunError> {
        self.ports.flush()
    }
}

#[cfg(test)]
mod tests {
    use cora_runtime::link::payload::Parked;

    use super::*;
    use crate::tenants::book::tests::{at, endpoint, packet};

    const SERVER: &str = "10.0.0.2:53";
    const OTHER: &str = "10.0.0.3:53";
    const CLIENT: &str = "192.0.2.9:4000";

    fn stamp() -> Stamp {
        let (meta, egress) = (at(Port::OUTSIDE), Port::INSIDE);
        Stamp { meta, number: 0, horizon: 0, egress, parked: Parked::NONE, missing: 0 }
    }

    fn gate() -> Gate {
        Gate::of(vec![endpoint(SERVER)])
    }

    #[test]
    fn a_tenant_speaks_for_its_server_alone() {
        let mut gate = gate();
        let mut lets = |port, from, to| gate.lets(port, &stamp(), &packet(from, to, 0, false));
        assert!(lets(Port::OUTSIDE, SERVER, CLIENT), "an answer");
        assert!(lets(Port::INSIDE, CLIENT, SERVER), "a packet that passes");
        for (port, from, to) in [
            (Port::OUTSIDE, OTHER, CLIENT),
            (Port::OUTSIDE, "10.0.0.2:54", CLIENT),
            (Port::OUTSIDE, CLIENT, SERVER),
            (Port::INSIDE, CLIENT, OTHER),
            (Port::INSIDE, SERVER, CLIENT),
            (Port(2), SERVER, CLIENT),
            (Port(200), SERVER, CLIENT),
        ] {
            assert!(!lets(port, from, to), "{from} to {to} at {port:?}");
        }
    }

    #[test]
    fn a_tenant_sends_no_fragments_but_those_that_it_got() {
        let mut gate = gate();
        let of = |offset, more| packet(CLIENT, SERVER, offset, more);
        assert!(!gate.lets(Port::INSIDE, &stamp(), &of(0, true)), "it never got that");
        assert!(!gate.lets(Port::INSIDE, &stamp(), &of(5, false)));
        gate.sees(&mut of(0, true), at(Port::OUTSIDE));
        assert!(gate.lets(Port::INSIDE, &stamp(), &of(0, true)));
        assert!(gate.lets(Port::INSIDE, &stamp(), &of(5, false)));
        let back = packet(SERVER, CLIENT, 0, true);
        assert!(
            !gate.lets(Port::OUTSIDE, &stamp(), &back),
            "those of the other direction are others"
        );
    }

    #[test]
    fn any_bytes_are_let_out_or_refused() {
        let mut gate = gate();
        let whole = packet(SERVER, CLIENT, 0, false);
        for length in 0..whole.len() {
            assert!(!gate.lets(Port::OUTSIDE, &stamp(), &whole[..length]), "{length} bytes");
        }
    }
}
