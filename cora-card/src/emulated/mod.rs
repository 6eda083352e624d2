//! A card in QEMU, with Debian's kernel for Arm: a second kernel that shares only a window of
//! memory with this one.
//!
//! `cargo cora doctor --fetch-card` puts emulator and kernel into a [directory](Parts::room);
//! nothing is installed. An emulator in `PATH` is used too.
//!
//! | module | content |
//! | --- | --- |
//! | `archive` | the card's first file system |
//! | `boot` | the command that boots a card |

mod archive;
mod boot;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use boot::{Boot, CARD_ADDRESS, HOST_ADDRESS, Joint, Window};

/// The emulator's name.
pub const EMULATOR: &str = "qemu-system-aarch64";
/// Where the parts are, if not in the user's cache.
pub const ROOM_VARIABLE: &str = "CORA_CARD";

/// The parts of an emulated card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    emulator: PathBuf,
    /// An unpacked package instead of an installed one: its root.
    unpacked: Option<PathBuf>,
    kernel: PathBuf,
    /// The kernel's modules for a wire, in the order of loading.
    modules: Vec<PathBuf>,
}

/// Why no card can be emulated.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// A part is not on this machine.
    #[error(
        "an emulated card needs {what}, and {} has none: `cargo cora doctor --fetch-card` brings it, \
         without installing anything",
        room.display()
    )]
    Missing {
        /// The part.
        what: &'static str,
        /// Where it was looked for.
        room: PathBuf,
    },
    /// The user has no directory for a cache.
    #[error("neither {ROOM_VARIABLE}, XDG_CACHE_HOME nor HOME says where a card's parts are")]
    NoRoom,
    /// The program for the card can't be read.
    #[error("the program for the card, {}: {cause}", path.display())]
    Program {
        /// Its file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// It is not a program for the card's machine.
    #[error(
        "{}: a card needs a program for aarch64 Linux that needs no other file, and this is none; `cargo \
         cora run --nic card` builds one",
        path.display()
    )]
    OtherMachine {
        /// Its file.
        path: PathBuf,
    },
    /// The kernel of this machine refused a file in memory.
    #[error("a file for the card's programs: {0}")]
    Memory(std::io::Error),
}

impl Parts {
    /// The parts on this machine.
    ///
    /// # Errors
    /// The part that is missing.
    pub fn find() -> Result<Self, CardError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_in(&Self::room()?, &path)
    }

    /// The directory of the parts: `CORA_CARD`, or `cora/card` in the user's cache.
    ///
    /// # Errors
    /// If the environment has none.
    pub fn room() -> Result<PathBuf, CardError> {
        let named = |variable: &str| {
            std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let cache = || {
            let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
            cache.map(|cache| cache.join("cora/card"))
        };
        named(ROOM_VARIABLE).or_else(cache).ok_or(CardError::NoRoom)
    }

    /// The kernel in a room.
    pub fn kernel_in(room: &Path) -> PathBuf {
        room.join("kernel")
    }

    /// The kernel's modules in a room, named in the order of loading.
    pub fn modules_in(room: &Path) -> PathBuf {
        room.join("modules")
    }

    /// The root of an unpacked emulator in a room.
    pub fn unpacked_in(room: &Path) -> PathBuf {
        room.join("qemu")
    }

    fn find_in(room: &Path, path: &OsString) -> Result<Self, CardError> {
        let missing = |what| CardError::Missing { what, room: room.to_owned() };
        let unpacked = Self::unpacked_in(room);
        let own = unpacked.join("usr/bin").join(EMULATOR);
        let in_path = || std::env::split_paths(path).map(|directory| directory.join(EMULATOR));
        let (emulator, unpacked) = if own.is_file() {
            (own, Some(unpacked))
        } else {
            let found = in_path().find(|file| file.is_file());
            (found.ok_or_else(|| missing("the emulator qemu-system-aarch64"))?, None)
        };
        let kernel = Self::kernel_in(room);
        if !kernel.is_file() {
            return Err(missing("a kernel for Arm"));
        }
        let modules = Self::modules_in(room).read_dir();
        let modules = modules.map_err(|_| missing("modules for the kernel's network"))?;
        let mut modules: Vec<PathBuf> =
            modules.filter_map(Result::ok).map(|it| it.path()).collect();
        modules.sort_unstable();
        Ok(Self { emulator, unpacked, kernel, modules })
    }

    /// The emulator's file.
    pub fn emulator(&self) -> &Path {
        &self.emulator
    }

    /// The directories of an unpacked emulator's libraries, for the loader.
    fn libraries(&self) -> Option<OsString> {
        let root = self.unpacked.as_ref()?;
        // Debian's multiarch directories, one of a kind for this machine's packages.
        let of = |part: &str| {
            let there = root.join(part).read_dir().into_iter().flatten().filter_map(Result::ok);
            let mut there: Vec<PathBuf> = there
                .filter(|it| it.file_name().to_string_lossy().ends_with("-linux-gnu"))
                .map(|it| it.path())
                .collect();
            there.sort_unstable();
            there
        };
        std::env::join_paths(of("usr/lib").into_iter().chain(of("lib"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, "").expect("a file");
    }

    #[test]
    fn says_which_part_is_missing() {
        let room = tempfile::tempdir().expect("a directory");
        let nowhere = OsString::from("/nowhere");
        let find = || Parts::find_in(room.path(), &nowhere);
        let lacks = |what: &str| {
            let why = find().unwrap_err().to_string();
            assert!(why.contains(what) && why.contains("doctor --fetch-card"), "{why}");
        };
        lacks("qemu-system-aarch64");
        file(&room.path().join("qemu/usr/bin").join(EMULATOR));
        lacks("a kernel");
        file(&Parts::kernel_in(room.path()));
        lacks("modules");
        for module in ["1-virtio_net.ko", "0-virtio.ko"] {
            file(&Parts::modules_in(room.path()).join(module));
        }
        for directory in ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"] {
            file(&room.path().join("qemu").join(directory).join("libfdt.so.1"));
        }
        let found = find().expect("all is there");
        assert!(found.modules[0].ends_with("0-virtio.ko") && found.modules.len() == 2);
        let libraries = found.libraries().expect("they are unpacked");
        let libraries: Vec<PathBuf> = std::env::split_paths(&libraries).collect();
        assert!(libraries.len() == 2 && libraries.iter().all(|it| it.is_dir()), "{libraries:?}");
    }

    #[test]
    fn an_installed_emulator_is_used() {
        let room = tempfile::tempdir().expect("a directory");
        let bin = room.path().join("bin");
        file(&bin.join(EMULATOR));
        file(&Parts::kernel_in(room.path()));
        // A kernel may have all it needs built in.
        std::fs::create_dir(Parts::modules_in(room.path())).expect("a directory");
        let found = Parts::find_in(room.path(), &bin.clone().into_os_string()).expect("it is");
        assert_eq!((found.emulator(), found.libraries()), (bin.join(EMULATOR).as_path(), None));
    }
}
