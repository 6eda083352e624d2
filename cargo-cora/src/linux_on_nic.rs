//! Linux on the NIC's machine: what runs there is built for it here, without a library of its own.
//! Rust brings its C library, and a linker for it.

use std::path::Path;
use std::process::Command;

/// Rust's name of the machine.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-musl";

/// Cargo's variable for the linker of that target.
pub(crate) const LINKER: (&str, &str) =
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");

/// The error says how Rust learns to build for it.
pub(crate) fn check() -> Result<(), String> {
    let mut asked = Command::new("rustc");
    let told = asked.args(["--print", "target-libdir", "--target", TARGET]).output();
    let is_installed =
        told.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir());
    if is_installed {
        return Ok(());
    }
    Err(format!("the target {TARGET} is not installed: rustup target add {TARGET}"))
}
