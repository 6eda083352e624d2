//! A TAP interface of Linux: the frames that its kernel sends are read, and what is written it
//! receives.
#![expect(unsafe_code, reason = "asks the kernel for the interface by an `ioctl` of its own")]

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};

use crate::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// `TUNSETIFF`, `_IOW('T', 202, int)`: `include/uapi/linux/if_tun.h`.
const SET_INTERFACE: Opcode = 0x4004_54ca;
/// `IFF_TAP | IFF_NO_PI`: whole Ethernet frames, nothing before them.
const FRAMES_ALONE: u16 = 0x0002 | 0x1000;
/// The longest frame that a TAP interface passes: an MTU of 65,521 and the header.
const LONGEST: usize = 65_535;

/// `struct ifreq`: a name that ends with zero, flags, and room for what other requests want.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// The interface; it is gone when this is dropped.
///
/// Its kernel finishes checksums and cuts segments itself, as this end takes no offloads. It stays
/// one when it is moved to another namespace, where this end can't ask for its MTU and link: a
/// frame that the kernel refuses because the interface is down is counted as `link-down`.
#[derive(Debug)]
pub struct Tap {
    file: OwnedFd,
    name: String,
    buffer: Vec<u8>,
    link: Link,
    counters: Counters,
}

impl Tap {
    /// Makes the interface of this name, or takes one that was made to stay.
    ///
    /// # Errors
    /// When it can't be made, or another program has it.
    pub fn open(name: &str) -> Result<Self, PortError> {
        let failed = |cause: Errno| PortError::Tap { name: name.into(), cause: cause.into() };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty()).map_err(failed)?;
        let mut request = InterfaceRequest { name: [0; 16], flags: FRAMES_ALONE, rest: [0; 22] };
        // Names are shorter: see `name`.
        for (to, from) in request.name.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        // SAFETY: the kernel reads a `struct ifreq` for this code, 40 bytes, which
        // `InterfaceRequest` is.
        let set = unsafe { Setter::<SET_INTERFACE, InterfaceRequest>::new(request) };
        // SAFETY: it is asked of a file of the kernel's TUN driver, which knows this code so.
        unsafe { ioctl(&file, set) }.map_err(failed)?;
        Ok(Self::new(name, file))
    }

    /// The interface that the program before had, which this process was.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn inherited(name: &str, number: i32) -> Result<Self, PortError> {
        let failed = |cause: Errno| PortError::Tap { name: name.into(), cause: cause.into() };
        if number < 0 {
            return Err(failed(Errno::BADF));
        }
        // SAFETY: the number is only used to ask the kernel for another one for the same file.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let file = rustix::io::fcntl_dupfd_cloexec(file, 0).map_err(failed)?;
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

    /// Each frame was written at once.
    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.file.as_fd()]
    }

    /// The most that any TAP interface may have.
    fn mtu(&self) -> usize {
        LONGEST - 14
    }

    /// As the last frame found it that was to leave.
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
