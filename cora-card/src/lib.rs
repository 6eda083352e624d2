//! A card is a computer of its own: it has its own kernel and memory, and shares with the host only
//! a window of memory. A program of Cora that is built for the card's machine starts there, and
//! runs its NIC half on the window.
//!
//! ```text
//!   host                                             card: a kernel of its own
//!   supervisor ── QEMU ────────────────────────────  first process (this program, for aarch64)
//!   host half  ── region ═══ window (a PCI BAR) ═══  NIC half (the image in that program)
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`emulated`] | a card in QEMU: its parts, and the command that boots it |
//! | [`first_process`] | the first process of an emulated card |
//! | `window` | the window, as the card's kernel offers it |
//! | `power`, `semihosting` | the end of a card, with an exit status |

pub mod emulated;
pub mod first_process;
mod power;
#[cfg(target_arch = "aarch64")]
mod semihosting;
mod window;

pub use power::status_of;
