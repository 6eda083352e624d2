//! How the NIC half is linked.
//!
//! - Without tables for unwinding. It never unwinds (a panic ends it), and the tables, which Rust's
//!   core library brings along, would take a tenth of its memory.
//! - With one copy of functions that are the same, byte for byte: tables of several states share
//!   much of their code. Rust promises no function an address of its own, so nothing may go by
//!   that.

use std::path::Path;

use super::nested::TARGET;

/// Discards the tables; everything else is laid out as the linker does by itself.
const SCRIPT: &str = "\
SECTIONS
{
  /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) }
}
INSERT AFTER .text;
";

/// Whether this build script builds for the NIC.
pub fn is_for_the_nic() -> bool {
    std::env::var("TARGET").is_ok_and(|target| target == TARGET)
}

/// Writes the linker's script to `path`; gives what to say to Cargo.
pub fn script(path: &Path) -> std::io::Result<[String; 3]> {
    std::fs::write(path, SCRIPT)?;
    let argument = |argument: &str| format!("rustc-link-arg-bins={argument}");
    let script = argument(&format!("-T{}", path.display()));
    Ok([argument("--no-eh-frame-hdr"), argument("--icf=all"), script])
}
