//! Linking of the NIC half.
//!
//! - Without unwind tables. The NIC half never unwinds (a panic ends it), and the tables in Rust's
//!   core library would take a tenth of its memory.
//! - With identical code folding: tables of several states share much of their code. Rust does not
//!   promise unique function addresses, so nothing may rely on them.

use std::path::Path;

use super::TARGET;

/// Discards the tables; the rest is the linker's default layout.
const SCRIPT: &str = "\
SECTIONS
{
  /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) }
}
INSERT AFTER .text;
";

/// Whether this build script builds for the NIC.
pub(crate) fn is_for_the_nic() -> bool {
    std::env::var("TARGET").is_ok_and(|target| target == TARGET)
}

/// Writes the linker script to `path`; returns the instructions for Cargo.
pub(crate) fn script(path: &Path) -> std::io::Result<[String; 3]> {
    std::fs::write(path, SCRIPT)?;
    let argument = |argument: &str| format!("rustc-link-arg-bins={argument}");
    let script = argument(&format!("-T{}", path.display()));
    Ok([argument("--no-eh-frame-hdr"), argument("--icf=all"), script])
}
