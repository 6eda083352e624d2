//! Static programs for Linux: what runs on a NIC, or confined at an agent, is built here, without a
//! library of its own. Rust brings its C library, and a linker for it.

use std::path::Path;
use std::process::Command;

/// A machine that static programs are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Rust's name of it.
    pub(crate) name: &'static str,
    /// Cargo's variable for the linker.
    pub(crate) linker: (&'static str, &'static str),
}

/// The NIC's.
pub(crate) const NIC: Target = Target {
    name: "aarch64-unknown-linux-musl",
    linker: ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld"),
};

/// This one.
pub(crate) const OWN: Target = if cfg!(target_arch = "aarch64") {
    NIC
} else {
    Target {
        name: "x86_64-unknown-linux-musl",
        linker: ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld"),
    }
};

impl Target {
    /// The error says how Rust learns to build for it.
    pub(crate) fn check(self) -> Result<(), String> {
        let name = self.name;
        let mut asked = Command::new("rustc");
        let told = asked.args(["--print", "target-libdir", "--target", name]).output();
        let is_installed =
            told.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir());
        if is_installed {
            return Ok(());
        }
        Err(format!("the target {name} is not installed: rustup target add {name}"))
    }
}
