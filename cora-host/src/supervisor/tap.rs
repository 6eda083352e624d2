//! A TAP interface of Linux: the frames that its kernel sends are read, and what is written it receives.
#![expect(unsafe_code, reason = "asks the kernel for the interface by an `ioctl` of its own")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};

use crate::RunError;

/// `TUNSETIFF`, `_IOW('T', 202, int)`: `include/uapi/linux/if_tun.h`.
const SET_INTERFACE: Opcode = 0x4004_54ca;
/// `IFF_TAP | IFF_NO_PI`: whole Ethernet frames, nothing before them.
const FRAMES_ALONE: u16 = 0x0002 | 0x1000;

/// `struct ifreq`: a name that ends with zero, flags, and room for what other requests want.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// The interface; it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Tap {
    file: OwnedFd,
}

impl Tap {
    /// Makes the interface of this name, or takes one that was made to stay.
    pub(super) fn open(name: &str) -> Result<Self, RunError> {
        let failed = |cause: Errno| RunError::Tap { name: name.into(), cause: cause.into() };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty()).map_err(failed)?;
        let mut request = InterfaceRequest { name: [0; 16], flags: FRAMES_ALONE, rest: [0; 22] };
        // Names are shorter: see `ports`.
        for (to, from) in request.name.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        // SAFETY: the kernel reads a `struct ifreq` for this code, 40 bytes, which `InterfaceRequest` is.
        let set = unsafe { Setter::<SET_INTERFACE, InterfaceRequest>::new(request) };
        // SAFETY: it is asked of a file of the kernel's TUN driver, which knows this code so.
        unsafe { ioctl(&file, set) }.map_err(failed)?;
        Ok(Self { file })
    }

    /// The interface that the program before had, which this process was.
    pub(super) fn inherited(number: i32) -> Result<Self, RunError> {
        // SAFETY: the number is only used to ask the kernel for another one for the same file.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let copy = rustix::io::fcntl_dupfd_cloexec(file, 0);
        let file =
            copy.map_err(|cause| RunError::Tap { name: number.to_string(), cause: cause.into() })?;
        Ok(Self { file })
    }

    /// The next frame, at the beginning of `buffer`: its length. `None`: there is none now.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        loop {
            match rustix::io::read(&self.file, &mut *buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(other) => return Err(other),
            }
        }
    }

    /// Hands the frame over; `false` when the interface does not take it (it is down, or the frame is none).
    pub(super) fn write(&self, frame: &[u8]) -> bool {
        rustix::io::write(&self.file, frame).is_ok_and(|written| written == frame.len())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
