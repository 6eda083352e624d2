//! An interface by AF_PACKET: both directions use rings of slots that are shared with the kernel
//! (TPACKET_V2).
//!
//! Works on every interface that carries Ethernet. The kernel's network stack also sees every frame
//! that comes. So the interface must have no address, or the kernel answers beside the program.
//!
//! | subject | treatment |
//! | --- | --- |
//! | frames for others | the interface is promiscuous as long as the port is open |
//! | own frames | never read back (`PACKET_IGNORE_OUTGOING`) |
//! | VLAN tags that the card took off | put back into the frame |
//! | checksums a local sender left unfinished | finished; the kernel tells which frames and where |
//! | segments put together (GRO, LRO) | turned off; frames beyond the MTU are `receive-too-long` |
//! | sending | past the queueing discipline, directly to the driver |
//!
//! | module | contents |
//! | --- | --- |
//! | `socket` | both sockets, and requests to them |
//! | `receive` | the receive ring |
//! | `transmit` | the transmit ring |

mod receive;
mod socket;
mod transmit;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use self::receive::{Fate, ReceiveRing};
pub(crate) use self::socket::{attempt, promiscuity};
use self::transmit::TransmitRing;
use crate::interface::Interface;
use crate::mapping::Mapping;
use crate::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// The capability that such a socket needs.
const RIGHTS: &str = "cap_net_raw";
/// Bytes before the payload: Ethernet header and two VLAN tags.
const HEADERS: usize = 14 + 2 * 4;
/// Bytes of a slot for the kernel: its header, the address, alignment, and the offload header.
const OVERHEAD: usize = 128;
/// Bytes of a ring; more if long slots would be too few.
const RING_BYTES: usize = 8 << 20;
/// Bounds of the slots of a ring.
const SLOTS: std::ops::RangeInclusive<usize> = 64..=4096;
/// Bytes of a block: the kernel needs them contiguous.
const BLOCK_BYTES: usize = 1 << 16;

/// An interface by AF_PACKET.
#[derive(Debug)]
pub struct PacketPort {
    interface: Interface,
    receiving: OwnedFd,
    sending: OwnedFd,
    receive: ReceiveRing,
    transmit: TransmitRing,
    counters: Counters,
    notes: Vec<String>,
    /// The note about too long frames was given.
    told_too_long: bool,
}

/// The division of a ring into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    slot_bytes: usize,
    slots: usize,
}

impl Cut {
    /// Returns slots that hold a frame of this MTU.
    fn of(mtu: usize) -> Self {
        let slot_bytes = (mtu + HEADERS + OVERHEAD).next_power_of_two().max(2048);
        let slots = (RING_BYTES / slot_bytes).clamp(*SLOTS.start(), *SLOTS.end());
        Self { slot_bytes, slots }
    }

    const fn bytes(self) -> usize {
        self.slot_bytes * self.slots
    }

    const fn request(self) -> libc::tpacket_req {
        let block = if self.slot_bytes > BLOCK_BYTES { self.slot_bytes } else { BLOCK_BYTES };
        libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (self.bytes() / block) as u32,
            tp_frame_size: self.slot_bytes as u32,
            tp_frame_nr: self.slots as u32,
        }
    }
}

impl PacketPort {
    /// Opens the interface of this name.
    ///
    /// # Errors
    /// When there is none, or this process lacks the capability.
    pub fn open(name: &str) -> Result<Self, PortError> {
        let mut interface = Interface::find(name)?;
        let failed = |what| move |errno| PortError::of(what, name, RIGHTS, errno);
        let cut = Cut::of(interface.mtu);
        let receiving =
            socket::receiving(interface.index, cut.request()).map_err(failed("a packet socket"))?;
        let sending =
            socket::sending(interface.index, cut.request()).map_err(failed("a packet socket"))?;
        let map = |socket: &OwnedFd| Mapping::of_file(socket.as_fd(), cut.bytes(), 0);
        let receive = map(&receiving).map_err(failed("mapping a packet ring"))?;
        let transmit = map(&sending).map_err(failed("mapping a packet ring"))?;
        let mut notes = Vec::new();
        let off = interface.keep_segments();
        if !off.is_empty() {
            let off = off.join(" and ");
            notes.push(format!("{off} turned off at {name}, until the port is closed"));
        }
        Ok(Self {
            interface,
            receive: ReceiveRing::new(receive, cut.slot_bytes, cut.slots),
            transmit: TransmitRing::new(transmit, cut.slot_bytes, cut.slots),
            receiving,
            sending,
            counters: Counters::default(),
            notes,
            told_too_long: false,
        })
    }

    /// Returns the length limit of this frame at the present MTU.
    fn longest(&self, frame: &[u8]) -> usize {
        let tags = frame.get(12..14).is_some_and(|kind| matches!(kind, [0x81, 0] | [0x88, 0xa8]));
        self.interface.mtu + if tags { HEADERS } else { 14 }
    }

    fn place(&mut self, frame: &[u8]) -> bool {
        let counters = &mut self.counters;
        if self.interface.link == Link::Down {
            counters.link_down += 1;
        } else if frame.len() < 14 {
            counters.not_taken += 1;
        } else if frame.len() > self.longest(frame) || frame.len() > self.transmit.longest() {
            self.counters.too_long += 1;
        } else if self.transmit.place(frame) {
            self.counters.transmitted += 1;
            return true;
        } else {
            // The ring may have room once the kernel has sent its frames.
            self.kick();
            if self.transmit.place(frame) {
                self.counters.transmitted += 1;
                return true;
            }
            self.counters.transmit_ring_full += 1;
        }
        false
    }

    /// Makes the kernel send the frames in the ring.
    fn kick(&mut self) {
        let mut tries = 0;
        while self.transmit.waits() && tries < 64 {
            tries += 1;
            if let Err(Errno::NETDOWN | Errno::NXIO) = socket::kick(self.sending.as_fd()) {
                let withdrawn = self.transmit.withdraw();
                self.counters.transmitted -= withdrawn;
                self.counters.link_down += withdrawn;
                self.interface.link = Link::Down;
            }
            // The kernel marks frames in the ring that it refuses for other reasons.
            let refused = self.transmit.settle();
            self.counters.transmitted -= refused;
            self.counters.not_taken += refused;
        }
    }
}

impl Port for PacketPort {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let longest = self.interface.mtu + HEADERS;
        let mut came = 0;
        while came < most {
            let Some(fate) = self.receive.take(longest, each) else { break };
            match fate {
                Fate::HandedOver { finished } => {
                    self.counters.received += 1;
                    self.counters.checksums_finished += u64::from(finished);
                    came += 1;
                }
                Fate::TooLong => self.counters.receive_too_long += 1,
                Fate::Damaged => self.counters.damaged_entry += 1,
            }
        }
        Ok(came)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        frames.iter().filter(|frame| self.place(frame)).count()
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.kick();
        Ok(())
    }

    fn look(&mut self) -> Result<(), PortError> {
        if !self.interface.look()? {
            return Ok(());
        }
        let dropped = socket::dropped(self.receiving.as_fd());
        self.counters.receive_ring_full += u64::from(dropped.unwrap_or_default());
        // A pending error would end every wait at once.
        socket::clear_error(self.receiving.as_fd());
        if self.counters.receive_too_long > 0 && !self.told_too_long {
            self.told_too_long = true;
            let name = &self.interface.name;
            let mtu = self.interface.mtu;
            self.notes.push(format!(
                "frames longer than the MTU ({mtu}) came by {name} and were dropped: the sender leaves \
                 segments to its card. Type `ethtool -K SENDER tx off tso off gso off` there"
            ));
        }
        Ok(())
    }

    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.receiving.as_fd()]
    }

    fn mtu(&self) -> usize {
        self.interface.mtu
    }

    fn link(&self) -> Link {
        self.interface.link
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::Finished, on_transmit: OnTransmit::AsGiven }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_the_longest_frame_and_fill_whole_blocks() {
        for mtu in [68, 1280, 1500, 1986, 9000, 65_535] {
            let cut = Cut::of(mtu);
            let request = cut.request();
            assert!(cut.slot_bytes >= mtu + HEADERS + OVERHEAD, "{mtu}");
            let (block, blocks) = (request.tp_block_size as usize, request.tp_block_nr as usize);
            assert_eq!(block * blocks, cut.bytes(), "{mtu}");
            assert_eq!(block % 4096, 0, "{mtu}");
            assert!(SLOTS.contains(&cut.slots), "{mtu}");
        }
    }
}
