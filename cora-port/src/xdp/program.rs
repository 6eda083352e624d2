//! The program in the kernel that hands frames to this process: six instructions, loaded and
//! attached by system calls. It ends with the process, because only a file of the process holds it.
#![expect(unsafe_code, reason = "calls `bpf`, for which no library is at hand")]

use std::ffi::c_long;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::option::last;

// `include/uapi/linux/bpf.h`.
const MAP_CREATE: c_long = 0;
const MAP_UPDATE: c_long = 2;
const PROGRAM_LOAD: c_long = 5;
const LINK_CREATE: c_long = 28;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const REDIRECT_MAP: i32 = 51;
/// `XDP_PASS`: a frame without a socket goes to the network stack.
const PASS: i32 = 2;
/// The queue number's place in `struct xdp_md`.
const QUEUE: i16 = 16;
/// `XDP_FLAGS_SKB_MODE`.
const GENERIC: u32 = 2;
/// `XDP_FLAGS_DRV_MODE`.
const NATIVE: u32 = 4;
/// How long the program of a process that has just ended may remain.
const LINGERS: Duration = Duration::from_millis(400);

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, value }
}

/// `return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS)`.
const fn instructions(sockets: i32) -> [Instruction; 6] {
    [
        instruction(0x61, 2, 1, QUEUE, 0),
        // Two words: a map, given by its file.
        instruction(0x18, 1, 1, 0, sockets),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, PASS),
        instruction(0x85, 0, 0, 0, REDIRECT_MAP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attaches_as: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attaches_as: u32,
    flags: u32,
}

/// The place where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the driver.
    Native,
    /// In the network stack.
    Generic,
}

/// The program, and its map of sockets.
#[derive(Debug)]
pub(super) struct Program {
    sockets: OwnedFd,
    code: OwnedFd,
    /// Keeps it attached to the interface.
    link: Option<OwnedFd>,
}

impl Program {
    /// Loads a program for so many queues, not attached yet.
    pub(super) fn load(queues: u32) -> Result<Self, Errno> {
        let map = MapCreate {
            kind: MAP_OF_SOCKETS,
            key_bytes: 4,
            value_bytes: 4,
            entries: queues,
            flags: 0,
        };
        let sockets = file(bpf(MAP_CREATE, &map)?);
        let code = instructions(sockets.as_raw_fd());
        let license = c"Dual MIT/GPL";
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"cora");
        let load = ProgramLoad {
            kind: PROGRAM_XDP,
            count: code.len() as u32,
            instructions: code.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel: 0,
            flags: 0,
            name,
            interface: 0,
            attaches_as: ATTACH_XDP,
        };
        let code = file(bpf(PROGRAM_LOAD, &load)?);
        Ok(Self { sockets, code, link: None })
    }

    /// Attaches the program to an interface.
    pub(super) fn attach(&mut self, interface: u32, place: Place) -> Result<(), Errno> {
        let flags = if place == Place::Native { NATIVE } else { GENERIC };
        let program = self.code.as_raw_fd().cast_unsigned();
        let link = LinkCreate { program, interface, attaches_as: ATTACH_XDP, flags };
        let deadline = Instant::now() + LINGERS;
        loop {
            match bpf(LINK_CREATE, &link) {
                Ok(number) => {
                    self.link = Some(file(number));
                    return Ok(());
                }
                Err(Errno::BUSY) if Instant::now() < deadline => sleep(Duration::from_millis(20)),
                Err(other) => return Err(other),
            }
        }
    }

    /// Directs frames of this queue to this socket from now on.
    pub(super) fn hand_to(&self, queue: u32, socket: impl AsFd) -> Result<(), Errno> {
        let (key, value) = (queue, socket.as_fd().as_raw_fd());
        let update = MapUpdate {
            map: self.sockets.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: std::ptr::from_ref(&key) as u64,
            value: std::ptr::from_ref(&value) as u64,
            flags: 0,
        };
        bpf(MAP_UPDATE, &update).map(drop)
    }
}

/// Calls `bpf`. `T` is one of the structures above, which begin as the kernel's `union bpf_attr`
/// does for the command; the memory that they point to lives until the call is over.
fn bpf<T>(command: c_long, attributes: &T) -> Result<i32, Errno> {
    let (place, bytes) = (std::ptr::from_ref(attributes), size_of::<T>());
    // SAFETY: the kernel reads `bytes` bytes there, and the memory that they point to; for these
    // commands it writes nothing.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, place, bytes) };
    i32::try_from(done).ok().filter(|number| *number >= 0).ok_or_else(last)
}

/// Takes the file that such a call made.
fn file(number: i32) -> OwnedFd {
    // SAFETY: the kernel gave this number to this process just now, closed on `exec`, and nobody
    // else knows it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_words_that_the_kernel_reads() {
        let words = instructions(5).map(|it| {
            let (offset, value) = (it.offset.to_le_bytes(), it.value.to_le_bytes());
            [[it.code, it.registers, offset[0], offset[1]], value].concat()
        });
        let expected: [[u8; 8]; 6] = [
            [0x61, 0x12, 16, 0, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 5, 0, 0, 0],
            [0; 8],
            [0xb7, 3, 0, 0, 2, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(words, expected.map(Vec::from));
    }
}
