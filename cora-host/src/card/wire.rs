//! Frames to and from the other end: an interface, or a socket of a card's emulator.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use cora_card::emulated::{CARD_ADDRESS, HOST_ADDRESS};
use cora_link::{Addresses, Settings};
use cora_port::Port;

use crate::RunError;
use crate::options::peer::Peer;

/// Most frames that are taken at once.
const BURST: usize = 64;
/// MTU of the wire to an emulated card: its kernel's own choice.
const MTU_OF_EMULATED: usize = 1500;

/// A wire that leads to one other end.
#[derive(Debug)]
pub struct Wire {
    way: Way,
    addresses: Addresses,
    mtu: usize,
}

/// An end of a link, at its wire.
pub trait Party {
    /// Takes a frame that came.
    ///
    /// # Errors
    /// If the session can't go on.
    fn hear(&mut self, frame: &[u8], now: u64) -> Result<(), RunError>;

    /// Sends all that is due. `send` takes a frame, or says that there is no room for it. Returns
    /// whether a record came since the last step, or goes.
    ///
    /// # Errors
    /// If the session can't go on.
    fn step(&mut self, now: u64, send: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, RunError>;

    /// When a step has something to do at the latest, if no frame comes and nobody rings (ns).
    fn due(&self, now: u64) -> u64;

    /// Whether there is nothing to send now: asked once more before a sleep.
    ///
    /// # Errors
    /// If a ring of its side is broken.
    fn has_nothing(&mut self) -> Result<bool, RunError>;
}

#[derive(Debug)]
enum Way {
    /// A socket of the emulator, or of a local card: each datagram is a frame.
    Socket(UnixDatagram, Box<[u8]>),
    Interface(Box<dyn Port>),
}

impl Wire {
    /// The host's end of a wire that is a socket: to an emulated card, or a local one.
    pub(super) fn of_host(socket: OwnedFd) -> Result<Self, RunError> {
        Self::over(socket, Addresses { own: HOST_ADDRESS, peer: CARD_ADDRESS })
    }

    /// A local card's end of such a wire.
    pub(super) fn of_local(socket: OwnedFd) -> Result<Self, RunError> {
        Self::over(socket, Addresses { own: CARD_ADDRESS, peer: HOST_ADDRESS })
    }

    fn over(socket: OwnedFd, addresses: Addresses) -> Result<Self, RunError> {
        let socket = UnixDatagram::from(socket);
        let set = socket.set_nonblocking(true);
        set.map_err(|cause| RunError::System { what: "the socket of a card", cause })?;
        let buffer = vec![0; MTU_OF_EMULATED + 64].into_boxed_slice();
        Ok(Self { way: Way::Socket(socket, buffer), addresses, mtu: MTU_OF_EMULATED })
    }

    /// An interface that leads to the peer.
    ///
    /// # Errors
    /// If it can't be opened, or is too narrow for the link's frames.
    pub fn to(peer: &Peer) -> Result<Self, RunError> {
        let port = cora_port::open(&peer.port)?;
        let interface = peer.port.interface().unwrap_or_default();
        let mtu = port.mtu();
        if mtu < Settings::LEAST_MTU {
            return Err(RunError::NarrowLink { interface: interface.to_owned(), mtu });
        }
        let addresses = Addresses { own: cora_port::address(interface)?, peer: peer.address };
        Ok(Self { mtu, way: Way::Interface(port), addresses })
    }

    /// An emulated card's end.
    pub(super) fn of_emulated(interface: &str) -> Result<Self, RunError> {
        Self::to(&Peer::behind(interface, HOST_ADDRESS))
    }

    /// The addresses of both ends.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Bytes behind the Ethernet header of the longest frame.
    pub const fn mtu(&self) -> usize {
        self.mtu
    }

    /// A turn of a party: it hears the frames that came, and its own leave. Returns whether there
    /// were records. Frames without any keep no end awake: the other one says again and again where
    /// it stands.
    ///
    /// # Errors
    /// If the wire is lost, or the session can't go on.
    pub fn turn(&mut self, party: &mut impl Party, now: u64) -> Result<bool, RunError> {
        let mut heard = Ok(());
        self.receive(&mut |frame| {
            if heard.is_ok() {
                heard = party.hear(frame, now);
            }
        })?;
        heard?;
        let said = party.step(now, &mut |frame| self.send(frame))?;
        self.flush()?;
        Ok(said)
    }

    /// Sends a frame; `false`: there is no room for it now.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        match &mut self.way {
            Way::Socket(socket, _) => socket.send(frame).is_ok(),
            Way::Interface(port) => port.transmit(&[frame]) == 1,
        }
    }

    /// All that was sent leaves now.
    ///
    /// # Errors
    /// If the wire is lost.
    pub fn flush(&mut self) -> Result<(), RunError> {
        match &mut self.way {
            Way::Socket(..) => Ok(()),
            Way::Interface(port) => {
                port.look()?;
                Ok(port.flush()?)
            }
        }
    }

    /// Takes frames that came; returns how many there were.
    ///
    /// # Errors
    /// If the wire is lost.
    pub fn receive(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<usize, RunError> {
        match &mut self.way {
            Way::Interface(port) => Ok(port.receive(BURST, each)?),
            Way::Socket(socket, buffer) => {
                for taken in 0..BURST {
                    match socket.recv(buffer) {
                        Ok(length) => each(&buffer[..length]),
                        Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(taken),
                        Err(why) if why.kind() == ErrorKind::Interrupted => {}
                        // The process at the other end is gone, and its parent will see that.
                        Err(why) if is_gone(&why) => return Ok(taken),
                        Err(cause) => {
                            return Err(RunError::System { what: "the wire to the card", cause });
                        }
                    }
                }
                Ok(BURST)
            }
        }
    }

    /// The files that become readable when a frame comes.
    pub(super) fn handles(&self) -> Vec<BorrowedFd<'_>> {
        match &self.way {
            Way::Socket(socket, _) => vec![socket.as_fd()],
            Way::Interface(port) => port.handles(),
        }
    }
}

fn is_gone(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}
