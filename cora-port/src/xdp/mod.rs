//! An interface by AF_XDP. A program of six instructions in the kernel hands each queue's frames to
//! a socket of this process, past the network stack, by shared rings and memory.
//!
//! | subject | treatment |
//! | --- | --- |
//! | place of the program | native (in the driver) if possible, otherwise generic (network stack) |
//! | received frames | without a copy if the driver can, otherwise by one |
//! | queues | one socket each; frames of other queues go to the kernel's network stack |
//! | sent frames | by the first queue, which keeps their order |
//! | another XDP program | stays: the port is not opened |
//! | end of the process | the program is removed with it |
//! | checksums a local sender left unfinished | not told by AF_XDP: see [`ChecksumRule`] |
//! | VLAN tags that the card takes off | would be lost: turned off while the port is open |
//!
//! | module | contents |
//! | --- | --- |
//! | `name` | the name of such a port, with its settings |
//! | `program` | the program in the kernel |
//! | `queue` | one queue's socket |
//! | `frames` | one queue's frames and their owners |
//! | `ring` | one of its rings |

mod frames;
mod name;
mod program;
mod queue;
mod ring;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use self::frames::Entry;
pub use self::name::{Attach, ChecksumRule, Mode, XdpName};
use self::program::{Place, Program};
use self::queue::Queue;
use crate::checksum::{self, Seen};
use crate::interface::{Interface, VLAN_OFF};
use crate::packet::promiscuity;
use crate::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// The capabilities that such a port needs.
const RIGHTS: &str = "cap_net_raw,cap_net_admin,cap_bpf";
/// Bytes before the payload: Ethernet header and two VLAN tags.
const HEADERS: usize = 14 + 2 * 4;
/// Bytes that the kernel reserves before each frame: `XDP_PACKET_HEADROOM`.
const HEADROOM: usize = 256;
/// Sizes of a chunk; the larger one is a page.
const CHUNKS: [usize; 2] = [2048, 4096];

/// An interface by AF_XDP.
#[derive(Debug)]
pub struct XdpPort {
    /// Dropped before the program, which then finds no sockets.
    queues: Vec<Queue>,
    _program: Program,
    interface: Interface,
    _promiscuous: OwnedFd,
    finishes: bool,
    /// The last queue that was asked.
    turn: usize,
    counters: Counters,
    notes: Vec<String>,
}

impl XdpPort {
    /// Opens the interface.
    ///
    /// # Errors
    /// When it is missing, in use or not allowed, or its MTU is too large.
    pub fn open(settings: &XdpName) -> Result<Self, PortError> {
        let name = settings.interface.as_str();
        let mut interface = Interface::find(name)?;
        let failed = |what| move |errno| PortError::of(what, name, RIGHTS, errno);
        let chunk_bytes = chunk(name, interface.mtu)?;
        let there = interface.queues();
        let count = settings.queues.unwrap_or(there);
        if count > there {
            let instead = format!("write xdp:{name}?queues={there}, or leave it out");
            let name = name.to_owned();
            return Err(PortError::NotThere { name, what: "so many queues", instead });
        }
        let promiscuous = promiscuity(interface.index).map_err(failed("making it promiscuous"))?;
        let mut notes = Vec::new();
        let mut program = Program::load(count).map_err(failed("loading an XDP program"))?;
        let place = attach(&mut program, &interface, settings.attach, &mut notes)?;
        if interface.turn_off(VLAN_OFF) {
            notes.push(format!("rxvlan turned off at {name}, until the port is closed"));
        }
        let mut queues = Vec::new();
        for number in 0..count {
            let queue = Queue::open(interface.index, number, settings.mode, chunk_bytes)
                .map_err(|(what, errno)| refusal(name, settings.mode, what, errno))?;
            program.hand_to(number, &queue).map_err(failed("handing frames to a socket"))?;
            queues.push(queue);
        }
        let driver = interface.driver().unwrap_or_default();
        let finishes = match settings.checksum {
            ChecksumRule::Auto => driver == "veth",
            ChecksumRule::Finish => true,
            ChecksumRule::Leave => false,
        };
        let zero_copy = queues.iter().all(|queue| queue.is_zero_copy);
        notes.push(told(settings, place, zero_copy, (count, there), finishes, &driver));
        Ok(Self {
            queues,
            _program: program,
            interface,
            _promiscuous: promiscuous,
            finishes,
            turn: 0,
            counters: Counters::default(),
            notes,
        })
    }

    fn place(&mut self, frame: &[u8]) -> bool {
        let tags = frame.get(12..14).is_some_and(|kind| matches!(kind, [0x81, 0] | [0x88, 0xa8]));
        let longest = self.interface.mtu + if tags { HEADERS } else { 14 };
        if self.interface.link == Link::Down {
            self.counters.link_down += 1;
        } else if frame.len() < 14 {
            self.counters.not_taken += 1;
        } else if frame.len() > longest {
            self.counters.too_long += 1;
        } else if self.put(frame) || (self.send().is_ok() && self.put(frame)) {
            self.counters.transmitted += 1;
            return true;
        } else {
            self.counters.transmit_ring_full += 1;
        }
        false
    }

    fn put(&mut self, frame: &[u8]) -> bool {
        self.queues.first_mut().is_some_and(|queue| queue.frames.place(frame))
    }

    fn send(&mut self) -> Result<(), PortError> {
        let Some(queue) = self.queues.first_mut() else { return Ok(()) };
        match queue.send() {
            Ok(damaged) => self.counters.damaged_entry += damaged,
            Err(Errno::NETDOWN) => self.interface.link = Link::Down,
            Err(Errno::NXIO | Errno::NODEV) => {
                return Err(PortError::Gone { name: self.interface.name.clone() });
            }
            Err(errno) => {
                return Err(PortError::of("sending", &self.interface.name, RIGHTS, errno));
            }
        }
        Ok(())
    }
}

impl Port for XdpPort {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let (longest, finishes) = (self.interface.mtu + HEADERS, self.finishes);
        let counters = &mut self.counters;
        let count = self.queues.len();
        let mut came = 0;
        for _ in 0..count {
            self.turn = (self.turn + 1) % count;
            let queue = &mut self.queues[self.turn];
            let mut taken = 0;
            while came < most {
                let mut fits = true;
                let entry = queue.take(&mut |frame| {
                    if frame.len() > longest {
                        counters.receive_too_long += 1;
                        fits = false;
                        return;
                    }
                    if finishes {
                        counters.checksums_finished += u64::from(checksum::finish_by_look(frame));
                    } else {
                        let unfinished = checksum::look(frame) == Seen::Unfinished;
                        counters.checksums_unfinished += u64::from(unfinished);
                    }
                    each(frame);
                });
                match entry {
                    None => break,
                    Some(Entry::Damaged) => counters.damaged_entry += 1,
                    Some(Entry::Frame) => came += usize::from(fits),
                }
                taken += 1;
            }
            if taken > 0 {
                queue.settle();
            }
        }
        counters.received += came as u64;
        Ok(came)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        frames.iter().filter(|frame| self.place(frame)).count()
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.send()
    }

    fn look(&mut self) -> Result<(), PortError> {
        if self.interface.look()? {
            self.counters.receive_ring_full = self.queues.iter().map(Queue::dropped).sum();
        }
        Ok(())
    }

    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(Queue::as_fd).collect()
    }

    fn mtu(&self) -> usize {
        self.interface.mtu
    }

    fn link(&self) -> Link {
        self.interface.link
    }

    fn checksums(&self) -> Checksums {
        let on_receive =
            if self.finishes { OnReceive::FinishedByLook } else { OnReceive::AsTheyCame };
        Checksums { on_receive, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Reopen
    }
}

/// Checks that this kernel has AF_XDP, and that this process may load the program for it.
pub(crate) fn attempt() -> Result<(), (&'static str, Errno)> {
    queue::socket().map_err(|errno| ("a socket", errno))?;
    Program::load(1).map_err(|errno| ("a program", errno))?;
    Ok(())
}

/// Returns the bytes of a chunk that holds every frame of this MTU.
fn chunk(name: &str, mtu: usize) -> Result<usize, PortError> {
    let fits = CHUNKS.into_iter().find(|chunk| mtu + HEADERS + HEADROOM <= *chunk);
    fits.ok_or_else(|| {
        let most = CHUNKS[1] - HEADROOM - HEADERS;
        PortError::MtuTooLarge { name: name.to_owned(), mtu, most, kind: "AF_XDP" }
    })
}

fn attach(
    program: &mut Program,
    interface: &Interface,
    wish: Attach,
    notes: &mut Vec<String>,
) -> Result<Place, PortError> {
    let name = &interface.name;
    let in_use =
        || PortError::InUse { name: name.clone(), what: "another XDP program is attached to it" };
    if wish != Attach::Generic {
        match program.attach(interface.index, Place::Native) {
            Ok(()) => return Ok(Place::Native),
            Err(Errno::BUSY | Errno::EXIST) => return Err(in_use()),
            Err(errno) if wish == Attach::Native => {
                let instead =
                    format!("{}; write xdp:{name}?attach=auto", std::io::Error::from(errno));
                let name = name.clone();
                return Err(PortError::NotThere { name, what: "native XDP", instead });
            }
            Err(errno) => {
                let why = std::io::Error::from(errno);
                notes.push(format!("{name} has no native XDP ({why}): generic, which is slower"));
            }
        }
    }
    match program.attach(interface.index, Place::Generic) {
        Ok(()) => Ok(Place::Generic),
        Err(Errno::BUSY | Errno::EXIST) => Err(in_use()),
        Err(errno) => Err(PortError::of("attaching an XDP program", name, RIGHTS, errno)),
    }
}

fn refusal(name: &str, mode: Mode, what: &'static str, errno: Errno) -> PortError {
    match errno {
        Errno::BUSY => {
            let what = "another AF_XDP socket is bound to a queue of it";
            PortError::InUse { name: name.to_owned(), what }
        }
        Errno::OPNOTSUPP | Errno::PROTONOSUPPORT | Errno::INVAL if mode == Mode::ZeroCopy => {
            let instead = format!("its driver copies; write xdp:{name}?mode=auto");
            PortError::NotThere { name: name.to_owned(), what: "zero copy", instead }
        }
        Errno::AFNOSUPPORT => {
            let instead =
                format!("this kernel was built without CONFIG_XDP_SOCKETS; write packet:{name}");
            PortError::NotThere { name: name.to_owned(), what: "AF_XDP", instead }
        }
        other => PortError::of(what, name, RIGHTS, other),
    }
}

fn told(
    settings: &XdpName,
    place: Place,
    zero_copy: bool,
    (count, there): (u32, u32),
    finishes: bool,
    driver: &str,
) -> String {
    let place = if place == Place::Native { "native" } else { "generic" };
    let copy = if zero_copy { "zero copy" } else { "copy" };
    let rest =
        if count < there { "; frames of the others go to the kernel's network stack" } else { "" };
    let sums = if finishes {
        ", checksums that a local sender left unfinished are finished and counted"
    } else {
        ""
    };
    let name = &settings.interface;
    format!("xdp:{name}: {place}, {copy}, {count} of {there} queues{rest}, driver {driver}{sums}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_the_longest_frame() {
        assert_eq!(chunk("e", 1500).unwrap(), 2048);
        assert_eq!(chunk("e", 1770).unwrap(), 2048);
        assert_eq!(chunk("e", 1771).unwrap(), 4096);
        assert_eq!(chunk("e", 3818).unwrap(), 4096);
        let error = chunk("e", 9000).unwrap_err().to_string();
        assert!(error.contains("mtu 3818") && error.contains("packet:e"), "{error}");
    }
}
