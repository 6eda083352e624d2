//! Frames to and from the other end: an interface, or a socket of a card's emulator.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use cora_card::emulated::{CARD_ADDRESS, HOST_ADDRESS};
use cora_link::Addresses;
use cora_port::{Port, PortName};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::RunError;
use crate::options::peer::{Peer, address_of};

/// Most frames that are taken at once.
const BURST: usize = 64;
/// MTU of the wire to an emulated card: its kernel's own choice.
const MTU_OF_EMULATED: usize = 1500;

/// A wire that leads to one other end.
#[derive(Debug)]
pub(super) struct Wire {
    way: Way,
    pub(super) addresses: Addresses,
    pub(super) mtu: usize,
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
    pub(super) fn to(peer: &Peer) -> Result<Self, RunError> {
        let interface = peer.interface.clone();
        let failed = |cause| RunError::System { what: "the address of an interface", cause };
        let port = cora_port::open(&PortName::Packet { interface })?;
        let own = own_address(&peer.interface).map_err(failed)?;
        let addresses = Addresses { own, peer: peer.address };
        Ok(Self { mtu: port.mtu(), way: Way::Interface(port), addresses })
    }

    /// An emulated card's end.
    pub(super) fn of_emulated(interface: &str) -> Result<Self, RunError> {
        Self::to(&Peer { interface: interface.to_owned(), address: HOST_ADDRESS })
    }

    /// Sends a frame; `false`: there is no room for it now.
    pub(super) fn send(&mut self, frame: &[u8]) -> bool {
        match &mut self.way {
            Way::Socket(socket, _) => socket.send(frame).is_ok(),
            Way::Interface(port) => port.transmit(&[frame]) == 1,
        }
    }

    /// All that was sent leaves now.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        match &mut self.way {
            Way::Socket(..) => Ok(()),
            Way::Interface(port) => {
                port.look()?;
                Ok(port.flush()?)
            }
        }
    }

    /// Takes frames that came; returns how many there were.
    pub(super) fn receive(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<usize, RunError> {
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

    /// Waits until a frame comes, here or at one of these other files, but no longer.
    pub(super) fn wait<'a>(&'a self, at_most: Duration, mut handles: Vec<BorrowedFd<'a>>) {
        match &self.way {
            Way::Socket(socket, _) => handles.push(socket.as_fd()),
            Way::Interface(port) => handles.extend(port.handles()),
        }
        let mut files: Vec<PollFd<'_>> =
            handles.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        let at_most = Timespec {
            tv_sec: at_most.as_secs().cast_signed(),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // The caller looks again in any case.
        let _ready = poll(&mut files, Some(&at_most));
    }
}

fn is_gone(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}

/// The address of an interface of this machine.
fn own_address(interface: &str) -> std::io::Result<[u8; 6]> {
    let path = Path::new("/sys/class/net").join(interface).join("address");
    let text = std::fs::read_to_string(path)?;
    address_of(&text).ok_or_else(|| ErrorKind::InvalidData.into())
}
