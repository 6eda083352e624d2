//! A UDP socket as a port: what a program that takes messages in datagrams needs, without an
//! interface of its own and without rights.
//!
//! A datagram that comes is handed over as a frame: Ethernet, IP and UDP headers are made, with the
//! peer's address as the source and the socket's as the destination. A frame that leaves is sent as
//! a datagram, if it is one from the socket's address.
//!
//! | subject | treatment |
//! | --- | --- |
//! | checksums | right in what comes; made by the kernel in what leaves |
//! | Ethernet addresses | made up, one for the socket and one for all peers |
//! | long datagrams | the kernel takes them apart and puts them together, up to 65,507 bytes |
//! | what is no datagram from the address | dropped as `not-a-datagram` |
//!
//! | module | contents |
//! | --- | --- |
//! | `frame` | datagrams as frames |
//! | `socket` | the socket, and many datagrams by one system call |

mod frame;
mod socket;

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use self::frame::{Ends, HEAD};
use self::socket::MOST;
use crate::{Checksums, Counters, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// Bytes for a datagram and the headers in front of it; a multiple of a page.
const ROOM: usize = 17 * 4096;
/// Bytes of datagrams that wait to be sent by one system call, at most.
const WAITING: usize = 1 << 18;

/// A UDP socket.
#[derive(Debug)]
pub struct UdpPort {
    socket: OwnedFd,
    address: SocketAddr,
    /// Room for each datagram of a system call.
    rooms: Vec<u8>,
    /// Datagrams that are to leave: their bytes one behind the other, and the receiver and the end
    /// of each.
    bytes: Vec<u8>,
    leaving: Vec<(SocketAddr, usize)>,
    counters: Counters,
}

impl UdpPort {
    /// Opens a socket at this address.
    ///
    /// # Errors
    /// When the address is in use, none of this machine's, or reserved.
    pub fn open(address: SocketAddr) -> Result<Self, PortError> {
        let failed = |errno| PortError::of_socket(address, errno);
        Ok(Self::new(address, socket::open(&address).map_err(failed)?))
    }

    /// Takes over the socket of this process's previous program, by its file's number.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn inherited(address: SocketAddr, number: i32) -> Result<Self, PortError> {
        let file = crate::inherited(number);
        Ok(Self::new(address, file.map_err(|errno| PortError::of_socket(address, errno))?))
    }

    fn new(address: SocketAddr, socket: OwnedFd) -> Self {
        let rooms = vec![0; ROOM * MOST];
        let (bytes, leaving) = (Vec::with_capacity(WAITING), Vec::with_capacity(MOST));
        Self { socket, address, rooms, bytes, leaving, counters: Counters::default() }
    }

    /// Takes a frame to be sent.
    fn take(&mut self, frame: &[u8]) -> bool {
        let Some((Ends { from, to }, contents)) = frame::within(frame) else {
            self.counters.not_a_datagram += 1;
            return false;
        };
        if (from.ip(), from.port()) != (self.address.ip(), self.address.port()) || to.port() == 0 {
            self.counters.not_a_datagram += 1;
            return false;
        }
        if self.leaving.len() == MOST || self.bytes.len() + contents.len() > WAITING {
            self.send();
        }
        self.bytes.extend_from_slice(contents);
        self.leaving.push((self.scoped(to), self.bytes.len()));
        true
    }

    /// A frame has no scope, without which a link-local address is no receiver.
    fn scoped(&self, mut to: SocketAddr) -> SocketAddr {
        if let (SocketAddr::V6(to), SocketAddr::V6(own)) = (&mut to, &self.address) {
            to.set_scope_id(own.scope_id());
        }
        to
    }

    /// Sends what waits. What the kernel refuses is counted and passed over.
    fn send(&mut self) {
        let mut done = 0;
        while done < self.leaving.len() {
            let (bytes, leaving) = (&self.bytes, &self.leaving);
            let start = |at: usize| at.checked_sub(1).map_or(0, |before| leaving[before].1);
            let rest = leaving.iter().enumerate().skip(done);
            let datagrams = rest.map(|(at, (to, end))| (to, &bytes[start(at)..*end]));
            match socket::send(self.socket.as_fd(), datagrams) {
                Ok(sent) => {
                    self.counters.transmitted += sent as u64;
                    // None would be no progress.
                    done += sent.max(1);
                }
                Err(Errno::INTR) => {}
                Err(errno) => {
                    *self.refused(errno) += 1;
                    done += 1;
                }
            }
        }
        self.bytes.clear();
        self.leaving.clear();
    }

    /// The counter of a datagram that the kernel refused for this reason.
    const fn refused(&mut self, errno: Errno) -> &mut u64 {
        match errno {
            Errno::AGAIN | Errno::NOBUFS => &mut self.counters.transmit_ring_full,
            Errno::MSGSIZE => &mut self.counters.too_long,
            Errno::NETDOWN => &mut self.counters.link_down,
            _ => &mut self.counters.not_taken,
        }
    }
}

impl Port for UdpPort {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let Self { socket, address, rooms, counters, .. } = self;
        let mut taken = 0;
        while taken < most {
            let mut senders = [(None, 0); MOST];
            let places = rooms.chunks_exact_mut(ROOM).take(most - taken);
            let places = places.filter_map(|room| room.get_mut(HEAD..));
            let came = socket::receive(socket.as_fd(), places, |at, sender, length| {
                senders[at] = (sender, length);
            });
            let came = match came {
                Ok(came) => came,
                Err(Errno::AGAIN) => break,
                // An earlier datagram did not reach its receiver; there may be others.
                Err(Errno::INTR | Errno::CONNREFUSED) => continue,
                Err(errno) => return Err(PortError::of_socket(*address, errno)),
            };
            let with = rooms.chunks_exact_mut(ROOM).zip(senders).take(came);
            for (room, (sender, length)) in with {
                let ends = sender.map(|from| Ends { from, to: *address });
                match ends.and_then(|ends| frame::around(&ends, length, room)) {
                    Some(frame) => {
                        each(frame);
                        counters.received += 1;
                        taken += 1;
                    }
                    None => counters.damaged_entry += 1,
                }
            }
            if came < MOST {
                break;
            }
        }
        Ok(taken)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        frames.iter().filter(|frame| self.take(frame)).count()
    }

    fn flush(&mut self) -> Result<(), PortError> {
        if !self.leaving.is_empty() {
            self.send();
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), PortError> {
        // A kernel without this count has none to tell.
        if let Ok(dropped) = socket::dropped(self.socket.as_fd()) {
            self.counters.receive_ring_full = dropped.into();
        }
        Ok(())
    }

    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    /// Returns the longest packet of IP.
    fn mtu(&self) -> usize {
        65_535
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::Made, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Inherit(self.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// A port, and a peer of it.
    fn pair(at: &str) -> (UdpPort, UdpSocket) {
        // A port that is free, and that nobody else asks for meanwhile.
        let address = UdpSocket::bind((at, 0)).unwrap().local_addr().unwrap();
        let peer = UdpSocket::bind((at, 0)).unwrap();
        peer.connect(address).unwrap();
        (UdpPort::open(address).unwrap(), peer)
    }

    fn take(port: &mut UdpPort) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        port.receive(MOST, &mut |frame| frames.push(frame.to_vec())).unwrap();
        frames
    }

    /// The frame of an answer: the ends change places.
    fn answer(question: &[u8], contents: &[u8]) -> Vec<u8> {
        let (Ends { from, to }, _) = frame::within(question).unwrap();
        let mut room = vec![0; ROOM];
        room[HEAD..HEAD + contents.len()].copy_from_slice(contents);
        frame::around(&Ends { from: to, to: from }, contents.len(), &mut room).unwrap().to_vec()
    }

    #[test]
    fn questions_come_as_frames_and_answers_leave_as_datagrams() {
        for at in ["127.0.0.1", "::1"] {
            let (mut port, peer) = pair(at);
            for length in [0, 5, 1472, 40_000] {
                let question = vec![7; length];
                peer.send(&question).unwrap();
                let frames = take(&mut port);
                let [frame] = &frames[..] else { panic!("{} frames", frames.len()) };
                let (ends, contents) = frame::within(frame).unwrap();
                assert_eq!(ends, Ends { from: peer.local_addr().unwrap(), to: port.address });
                assert_eq!(contents, question);
                let answer = answer(frame, &vec![9; length]);
                assert_eq!(port.transmit(&[&answer]), 1);
                port.flush().unwrap();
                let mut buffer = vec![0; 65_536];
                assert_eq!(peer.recv(&mut buffer).unwrap(), length);
                assert_eq!(buffer[..length], vec![9; length]);
            }
            assert_eq!((port.counters().received, port.counters().transmitted), (4, 4));
            assert_eq!(take(&mut port).len(), 0);
        }
    }

    #[test]
    fn bursts_keep_their_order_in_both_directions() {
        let (mut port, peer) = pair("127.0.0.1");
        for number in 0..100_u8 {
            peer.send(&[number]).unwrap();
        }
        let mut frames = Vec::new();
        while frames.len() < 100 {
            frames.extend(take(&mut port));
        }
        let answers: Vec<_> =
            (0..).zip(&frames).map(|(at, frame)| answer(frame, &[at, 1])).collect();
        let answers: Vec<&[u8]> = answers.iter().map(|answer| &answer[..]).collect();
        assert_eq!(port.transmit(&answers), 100);
        port.flush().unwrap();
        for (number, frame) in (0..).zip(&frames) {
            assert_eq!(frame::within(frame).unwrap().1, [number]);
            let mut buffer = [0; 9];
            assert_eq!(peer.recv(&mut buffer).unwrap(), 2);
            assert_eq!(buffer[..2], [number, 1]);
        }
    }

    #[test]
    fn what_is_no_datagram_from_its_address_is_counted() {
        let (mut port, peer) = pair("127.0.0.1");
        peer.send(b"question").unwrap();
        let question = take(&mut port).remove(0);
        let good = answer(&question, b"answer");
        let mut other_port = good.clone();
        other_port[35] ^= 1;
        let mut other_address = good.clone();
        other_address[29] ^= 2;
        let frames: [&[u8]; 5] = [&question, &other_port, &other_address, &good[..41], &[]];
        assert_eq!(port.transmit(&frames), 0);
        port.flush().unwrap();
        assert!(port.counters().outcomes().contains(&("not-a-datagram", 5)));
        assert_eq!(port.transmit(&[&good]), 1);
        port.flush().unwrap();
        assert_eq!(peer.recv(&mut [0; 9]).unwrap(), 6);
    }

    #[test]
    fn a_datagram_that_the_kernel_refuses_does_not_hold_up_others() {
        let (mut port, peer) = pair("127.0.0.1");
        peer.send(b"question").unwrap();
        let good = answer(&take(&mut port).remove(0), b"answer");
        let mut nowhere = good.clone();
        // A broadcast, for which the socket has no right.
        nowhere[30..34].fill(0xff);
        assert_eq!(port.transmit(&[&good, &nowhere, &good]), 3);
        port.flush().unwrap();
        assert_eq!((port.counters().transmitted, port.counters().not_taken), (2, 1));
        (0..2).for_each(|_| assert_eq!(peer.recv(&mut [0; 9]).unwrap(), 6));
    }

    #[test]
    fn why_it_can_not_be_opened_is_told_with_the_remedy() {
        let (port, _) = pair("127.0.0.1");
        let refused = |address: SocketAddr| UdpPort::open(address).unwrap_err().to_string();
        let error = refused(port.address);
        assert!(error.contains("is in use: another program has this address"), "{error}");
        let error = refused("192.0.2.77:7000".parse().unwrap());
        assert!(error.contains("no interface here has this address"), "{error}");
        let error =
            PortError::of_socket("127.0.0.1:53".parse().unwrap(), Errno::ACCESS).to_string();
        assert!(error.contains("ports below 1024"), "{error}");
        let again = UdpPort::inherited(port.address, std::os::fd::AsRawFd::as_raw_fd(&port.socket));
        assert!(again.is_ok());
        assert!(UdpPort::inherited(port.address, -1).is_err());
    }

    #[test]
    fn datagrams_that_find_no_room_are_counted() {
        let (mut port, peer) = pair("127.0.0.1");
        let small = 2048;
        crate::option::set(port.socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &small).unwrap();
        (0..100).for_each(|_| drop(peer.send(&[0; 1000])));
        let mut came = 0;
        while let frames @ 1.. = take(&mut port).len() {
            came += frames as u64;
        }
        port.look().unwrap();
        assert_eq!(port.counters().receive_ring_full, 100 - came);
    }
}
