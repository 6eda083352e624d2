//! A TAP interface of Linux: the kernel sends frames to this process, and receives frames from it.
#![expect(unsafe_code, reason = "asks the kernel for the interface by an `ioctl` of its own")]

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};

use crate::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// `TUNSETIFF`, `_IOW('T', 202, int)`: `include/uapi/linux/if_tun.h`.
const SET_INTERFACE: Opcode = 0x4004_54ca;
/// `IFF_TAP | IFF_NO_PI`: whole Ethernet frames without a prefix.
const FRAMES_ALONE: u16 = 0x0002 | 0x1000;
/// The longest frame that a TAP interface passes: an MTU of 65,521 and the header.
const LONGEST: usize = 65_535;

/// `struct ifreq`: a zero-terminated name, flags, and room for the fields of other requests.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// A TAP interface, removed when this is dropped, unless it was made to stay.
///
/// The kernel finishes checksums and cuts segments itself, as this end takes no offloads. The port
/// works on when the interface is moved to another namespace, but can't ask for its MTU and link
/// there. So a frame that is refused because the interface is down is counted as `link-down`.
#[derive(Debug)]
pub struct Tap {
    file: OwnedFd,
    name: String,
    buffer: Vec<u8>,
    link: Link,
    counters: Counters,
}

impl Tap {
    /// Makes the interface of this name, or opens one that was made to stay.
    ///
    /// # Errors
    /// When it can't be made, or another program uses it.
    pub fn open(name: &str) -> Result<Self, PortError> {
        let failed = |cause: Errno| PortError::Tap { name: name.into(), cause: cause.into() };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty()).map_err(failed)?;
        let mut request = InterfaceRequest { name: [0; 16], flags: FRAMES_ALONE, rest: [0; 22] };
        // Names have at most 15 bytes: see `name`.
        for (to, from) in request.name.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        // SAFETY: the kernel reads a `struct ifreq` for this code, 40 bytes, which
        // `InterfaceRequest` is.
        let set = unsafe { Setter::<SET_INTERFACE, InterfaceRequest>::new(request) };
        // SAFETY: the file is of the kernel's TUN driver, which defines this code so.
        unsafe { ioctl(&file, set) }.map_err(failed)?;
        Ok(Self::new(name, file))
    }

    /// Takes over the interface of this process's previous program, by its file's number.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn inherited(name: &str, number: i32) -> Result<Self, PortError> {
        let failed = |cause: Errno| PortError::Tap { name: name.into(), cause: cause.into() };
        let file = crate::inherited(number).map_err(failed)?;
        Ok(Self::new(name, file))
    }

    fn new(name: &str, file: OwnedFd) -> Self {
        let (buffer, counters) = (vec![0; LONGEST], Counters::default());
        Self { file, name: name.to_owned(), buffer, link: Link::Up, counters }
    }

    fn write(&mut self, frame: &[u8]) -> bool {
        match rustix::io::write(&self.file, frame) {
            Ok(written) if written == frame.len() => {
                self.link = Link::Up;
                self.counters.transmitted += 1;
                return true;
            }
            Err(Errno::IO) => {
                self.link = Link::Down;
                self.counters.link_down += 1;
            }
            Err(Errno::AGAIN | Errno::NOBUFS) => self.counters.transmit_ring_full += 1,
            Err(Errno::MSGSIZE) => self.counters.too_long += 1,
            Ok(_) | Err(_) => self.counters.not_taken += 1,
        }
        false
    }
}

impl Port for Tap {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let mut came = 0;
        while came < most {
            match rustix::io::read(&self.file, &mut self.buffer[..]) {
                Ok(length) => each(&self.buffer[..length]),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(Errno::BADFD) => return Err(PortError::Gone { name: self.name.clone() }),
                Err(cause) => {
                    return Err(PortError::Tap { name: self.name.clone(), cause: cause.into() });
                }
            }
            came += 1;
        }
        self.counters.received += came as u64;
        Ok(came)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        frames.iter().filter(|frame| self.write(frame)).count()
    }

    /// Returns the interface's file. Each frame is written at once, so `flush` has nothing to do.
    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.file.as_fd()]
    }

    /// Returns the largest MTU of any TAP interface.
    fn mtu(&self) -> usize {
        LONGEST - 14
    }

    /// Returns the state that the last sent frame found.
    fn link(&self) -> Link {
        self.link
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::Finished, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Inherit(self.file.as_fd())
    }
}
