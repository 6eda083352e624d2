//! The socket of all clients.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use cora::datagram;
use transactions::wire::Outcome;

use crate::engine::{Engine, Jobs, Sent};

/// How long to wait for a datagram, if nothing is due.
const WAIT: Duration = Duration::from_millis(1);
/// How many datagrams are taken before anything that is due.
const BURST: usize = 64;

/// A socket, and the nodes.
pub(crate) struct Network {
    socket: UdpSocket,
    nodes: Vec<SocketAddr>,
    start: Instant,
    bytes: Vec<u8>,
}

impl Network {
    /// A socket from which these nodes are reached.
    pub(crate) fn new(nodes: Vec<SocketAddr>) -> Result<Self, String> {
        let at: SocketAddr = match nodes.first() {
            Some(SocketAddr::V6(_)) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            _ => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(at).map_err(|error| format!("no socket at {at}: {error}"))?;
        let set = socket.set_read_timeout(Some(WAIT));
        set.map_err(|error| format!("the socket has no timeout: {error}"))?;
        let bytes = vec![0; datagram::MOST];
        Ok(Self { socket, nodes, start: Instant::now(), bytes })
    }

    /// Time since the beginning (ns).
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Does all jobs. `tell` is called now and then.
    pub(crate) fn run(
        &mut self,
        engine: &mut Engine<'_>,
        jobs: &mut Jobs<'_>,
        tell: &mut dyn FnMut(&Engine<'_>),
    ) -> Result<(), String> {
        let mut sent = Vec::new();
        engine.begin(self.now(), jobs);
        while !engine.is_done() {
            engine.due(self.now(), jobs, &mut sent);
            self.send(&mut sent);
            for _ in 0..BURST {
                let Some(outcome) = self.receive(engine)? else { break };
                engine.hear(self.now(), &outcome, jobs, &mut sent);
                self.send(&mut sent);
                if engine.next_due().is_some_and(|due| due <= self.now()) {
                    break;
                }
            }
            tell(engine);
        }
        Ok(())
    }

    /// A datagram that the kernel refuses is lost, as on a network, and is sent again.
    fn send(&mut self, sent: &mut Vec<Sent>) {
        for (node, said) in sent.drain(..) {
            let Some(node) = self.nodes.get(node) else { continue };
            if let Ok(length) = datagram::write(&said, &mut self.bytes) {
                let _lost = self.socket.send_to(&self.bytes[..length], node);
            }
        }
    }

    /// The next outcome; `None` if none comes for a while.
    fn receive(&mut self, engine: &mut Engine<'_>) -> Result<Option<Outcome>, String> {
        loop {
            match self.socket.recv_from(&mut self.bytes) {
                Ok((length, from)) => {
                    let outcome = datagram::read::<Outcome>(&self.bytes[..length]).ok();
                    if self.nodes.contains(&from) && outcome.is_some() {
                        return Ok(outcome);
                    }
                    engine.figures.strange += 1;
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(None),
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(format!("nothing can be received: {error}")),
                },
            }
        }
    }
}
