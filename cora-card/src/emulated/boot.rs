//! The command that boots a card.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;
use std::process::Command;

use rustix::fs::{MemfdFlags, SealFlags};

use super::{CardError, Parts, archive};
use crate::first_process::{FIRST_COMMAND, WINDOW, WIRE};

/// The processor: BlueField-2's.
const PROCESSOR: &str = "cortex-a72";
/// With a single processor, QEMU takes it that nobody else sees the card's memory, and leaves out
/// fences and exclusive accesses. Rings in the window would break.
const PROCESSORS: u32 = 2;
/// Memory of a card besides its half and its archive, in MiB: the kernel takes 60, the rest is
/// free.
const MEMORY_BESIDE: usize = 256;
const MIB: usize = 1 << 20;

/// The joint of card and host.
#[derive(Clone, Copy, Debug)]
pub enum Joint<'a> {
    /// A window of memory.
    Window(Window<'a>),
    /// A wire: a socket, of which each datagram is an Ethernet frame.
    Wire(BorrowedFd<'a>),
}

/// Address of the host's end of the wire to an emulated card: a locally administered one, as the
/// next.
pub const HOST_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Address of the card's end.
pub const CARD_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The memory that host and card share: a file of this many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The file.
    pub file: BorrowedFd<'a>,
    /// Its bytes: a power of two, because it becomes a region of a PCI device.
    pub bytes: usize,
}

impl Window<'_> {
    /// The length of a window for a region of so many bytes.
    pub const fn bytes_for(region: usize) -> usize {
        region.next_power_of_two()
    }
}

/// A card that is to boot.
#[derive(Debug)]
pub struct Boot {
    parts: Parts,
    archive: File,
}

impl Boot {
    /// A card with this program as its first process.
    ///
    /// # Errors
    /// If a part is missing, or the program is none for a card.
    pub fn of(parts: Parts, program: &Path) -> Result<Self, CardError> {
        let path = || program.to_owned();
        let bytes =
            std::fs::read(program).map_err(|cause| CardError::Program { path: path(), cause })?;
        if !is_for_the_card(&bytes) {
            return Err(CardError::OtherMachine { path: path() });
        }
        let archive = packed(&bytes, &parts).map_err(CardError::Memory)?;
        Ok(Self { parts, archive })
    }

    /// The file that the emulator must inherit beside the window.
    pub const fn archive(&self) -> &File {
        &self.archive
    }

    /// The same, to be kept until the emulator runs.
    pub fn into_archive(self) -> File {
        self.archive
    }

    /// The emulator's command line. NIC half and agent take `half` bytes of the card's memory. The
    /// card's console is the emulator's standard output.
    pub fn command(&self, joint: Joint<'_>, half: usize) -> Command {
        let memory = MEMORY_BESIDE + half.div_ceil(MIB) + 2 * self.archive_bytes().div_ceil(MIB);
        // A loader's variable for the emulator alone, and not for its parent.
        let mut command = Command::new("/usr/bin/env");
        if let Some(libraries) = self.parts.libraries() {
            let mut variable = OsString::from("LD_LIBRARY_PATH=");
            variable.push(libraries);
            command.arg(variable);
        }
        command.arg(&self.parts.emulator);
        let text = |option: &str, value: String| [option.to_owned(), value];
        command.args(text("-smp", PROCESSORS.to_string()));
        command.args(text("-m", memory.to_string()));
        command.args(["-machine", "virt", "-cpu", PROCESSOR]);
        command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]);
        command.args(["-semihosting-config", "enable=on,target=native,userspace=on"]);
        command.arg("-kernel").arg(&self.parts.kernel);
        command.args(text("-initrd", format!("/proc/self/fd/{}", self.archive.as_raw_fd())));
        let first = match joint {
            Joint::Window(window) => format!("{WINDOW} {}", window.bytes),
            Joint::Wire(_) => WIRE.to_owned(),
        };
        let line =
            format!("console=ttyAMA0 quiet panic=-1 ipv6.disable=1 -- {FIRST_COMMAND} {first}");
        command.args(text("-append", line));
        match joint {
            Joint::Window(Window { file, bytes }) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                let memory =
                    format!("memory-backend-file,id=window,mem-path={path},size={bytes},share=on");
                command.args(text("-object", memory));
                command.args(["-device", "ivshmem-plain,memdev=window"]);
            }
            Joint::Wire(socket) => {
                let socket = socket.as_raw_fd();
                let wire = format!("dgram,id=wire,local.type=fd,local.str={socket}");
                command.args(text("-netdev", wire));
                let address = CARD_ADDRESS.map(|byte| format!("{byte:02x}")).join(":");
                let card = format!("virtio-net-pci,netdev=wire,mac={address},romfile=");
                command.args(text("-device", card));
            }
        }
        if let Some(root) = &self.parts.unpacked {
            command.arg("-L").arg(root.join("usr/share/qemu"));
        }
        command
    }

    fn archive_bytes(&self) -> usize {
        let length = self.archive.metadata().map_or(0, |it| it.len());
        usize::try_from(length).unwrap_or(usize::MAX)
    }
}

/// A file without a name, with the card's first file system; it can't be changed.
fn packed(program: &[u8], parts: &Parts) -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut out = BufWriter::new(File::from(rustix::fs::memfd_create("cora-card", flags)?));
    let modules = parts.modules.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    archive::write(&mut out, program, &modules)?;
    out.flush()?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// Whether this is an ELF executable for aarch64 without an interpreter: a card has no loader and
/// no library. Fields: System V ABI, "ELF Header" and "Program Header".
fn is_for_the_card(program: &[u8]) -> bool {
    const CLASS_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
    const AARCH64: u64 = 183;
    const INTERPRETER: u64 = 3;
    let number = |at: usize, bytes: usize| {
        let field = program.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let kinds = || {
        let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let place = |of: u64| usize::try_from(first.checked_add(of * size)?).ok();
        (0..count).map(|of| number(place(of)?, 4)).collect::<Option<Vec<u64>>>()
    };
    program.starts_with(CLASS_64_LITTLE)
        && number(18, 2) == Some(AARCH64)
        && kinds().is_some_and(|kinds| !kinds.contains(&INTERPRETER))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    /// The header of an ELF file for a machine, with one program header of this kind.
    fn elf(machine: u8, kind: u8) -> Vec<u8> {
        let mut file = vec![0; 120];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[18], file[32], file[54], file[56], file[64]) = (machine, 64, 56, 1, kind);
        file
    }

    fn parts() -> Parts {
        Parts { emulator: "q".into(), unpacked: None, kernel: "k".into(), modules: Vec::new() }
    }

    #[test]
    fn a_card_needs_a_static_program_of_its_own_machine() {
        assert!(is_for_the_card(&elf(183, 1)));
        assert!(!is_for_the_card(&elf(62, 1)), "x86-64");
        assert!(!is_for_the_card(&elf(183, 3)), "it needs a loader");
        assert!(!is_for_the_card(&elf(183, 1)[..64]), "it is cut");
        assert!(!is_for_the_card(b"#!/bin/sh") && !is_for_the_card(&[]));
        // Any length and any bytes: an answer, no panic.
        let mut large = elf(183, 1);
        large[32..40].fill(0xff);
        assert!(!is_for_the_card(&large));
    }

    #[test]
    fn a_program_that_is_none_for_a_card_is_refused() {
        let room = tempfile::tempdir().expect("a directory");
        let refused = |path: &Path| Boot::of(parts(), path).unwrap_err().to_string();
        assert!(refused(&room.path().join("none")).contains("No such file"));
        let path = room.path().join("program");
        std::fs::write(&path, elf(62, 1)).expect("a file");
        assert!(refused(&path).contains("cargo cora run --nic card"));
    }

    #[test]
    fn the_card_gets_window_and_archive() {
        let room = tempfile::tempdir().expect("a directory");
        let path = room.path().join("program");
        std::fs::write(&path, elf(183, 1)).expect("a file");
        let boot = Boot::of(parts(), &path).expect("a card");
        let file = File::open(&path).expect("a file");
        let words = |joint: Joint<'_>| {
            let command = boot.command(joint, 10 * MIB);
            let words: Vec<_> = command.get_args().map(|it| it.to_string_lossy()).collect();
            words.join(" ")
        };
        let window = Window { file: file.as_fd(), bytes: Window::bytes_for(5000) };
        let (wire, words) = (words(Joint::Wire(file.as_fd())), words(Joint::Window(window)));
        assert!(wire.contains(&format!("fd,local.str={}", file.as_raw_fd())), "{wire}");
        assert!(wire.contains("-- __card wire") && wire.contains("mac=02:00:00:00:00:02"));
        for expected in [
            "-smp 2",
            "-m 268",
            "-- __card window 8192",
            &format!("fd/{},size=8192,share=on", file.as_raw_fd()),
            &format!("-initrd /proc/self/fd/{}", boot.archive().as_raw_fd()),
        ] {
            assert!(words.contains(expected), "{expected}: {words}");
        }
    }
}
