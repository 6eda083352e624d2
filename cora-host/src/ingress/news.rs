//! The end of news at whoever has the ports: a card, or an agent. See
//! [`elsewhere`](crate::ingress::elsewhere).

use cora_link::mirror::Broken;
use cora_runtime::link::message::{Kind, MAX_MESSAGE};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};

use crate::RunError;
use crate::ingress::elsewhere::{COUNTS, Counts, PORTS, PortsThere, SETUP, Setup};

/// What a supervisor says of the wire.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The time of its run, and its services.
    Setup(Setup),
    /// A record of a change of read-mostly states, which stands between two packets.
    Change((u16, Vec<u8>)),
    /// The ports are to be closed.
    End,
}

/// The ends of both rings.
pub(crate) struct NewsEnd {
    from: Consumer<SharedMemory>,
    to: Producer<SharedMemory>,
    buffer: Box<[u8]>,
    /// The counts that the supervisor knows.
    told: Counts,
    ports_told: bool,
}

fn nonsense() -> RunError {
    RunError::Mirror(Broken::Nonsense("a record about the wire that is none"))
}

impl NewsEnd {
    /// On the wire's rings among these. Nothing is told yet.
    pub(crate) fn of(rings: &Rings) -> Self {
        Self {
            from: Consumer::new(rings.wire_in),
            to: Producer::new(rings.wire_out),
            buffer: vec![0; MAX_MESSAGE].into_boxed_slice(),
            told: Counts::default(),
            ports_told: false,
        }
    }

    /// Goes on with these rings.
    pub(crate) fn replug(&mut self, rings: &Rings) {
        (self.from, self.to) = (Consumer::new(rings.wire_in), Producer::new(rings.wire_out));
    }

    /// Takes the next record, if there is one.
    pub(crate) fn hear(&mut self) -> Result<Option<Heard>, RunError> {
        let Some(popped) = self.from.pop(&mut self.buffer)? else { return Ok(None) };
        let bytes = &self.buffer[..popped.len];
        let heard = if popped.kind == SETUP {
            Heard::Setup(serde_json::from_slice(bytes).map_err(|_| nonsense())?)
        } else if Kind::is_of_change(popped.kind) {
            Heard::Change((popped.kind, bytes.to_vec()))
        } else if popped.kind == Kind::WireEnd {
            Heard::End
        } else {
            return Err(nonsense());
        };
        self.from.release();
        Ok(Some(heard))
    }

    /// Tells the counts, if they are new: before all that a NIC half says of the packets.
    pub(crate) fn tell(&mut self, counts: Counts) {
        if counts != self.told && self.to.push(COUNTS, &[&counts.encode()]).is_ok() {
            self.to.publish();
            self.told = counts;
        }
    }

    /// Tells how the ports were, once; returns whether it is told.
    pub(crate) fn tell_ports(&mut self, there: impl FnOnce() -> PortsThere) -> bool {
        if !self.ports_told {
            let bytes = serde_json::to_vec(&there()).unwrap_or_default();
            self.ports_told = self.to.push(PORTS, &[&bytes]).is_ok();
            self.to.publish();
        }
        self.ports_told
    }
}
