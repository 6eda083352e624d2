//! The runtime of the NIC half: where it begins, how it talks to the kernel, and its run loop.
//!
//! One program, two builds. For BlueField's Arm cores (`aarch64-unknown-none`) it is a freestanding
//! static executable: no `std`, no C library, raw system calls of the Arm Linux it runs under.
//! Built for the machine of the host it is a function, [`serve`], that the host binary runs in a
//! process of its own, so that both sides can run fast on one machine.
//!
//! ```text
//! _start (or the host binary's NIC process) → serve → attach to the region → run loop → report
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `start` | bare metal only: `_start`, arguments, panics |
//! | `sys` | the five system calls, for aarch64 and x86-64 Linux |
//! | `link` | this side's ends of the rings |
//! | `seat` | not on bare metal: a half among others in one process |
//! | [`serve`] | from the region's first word to the final report |
#![cfg_attr(not(test), no_std)]

mod link;
#[cfg(not(target_os = "none"))]
mod seat;
mod serve;
#[cfg(target_os = "none")]
mod start;
mod sys;

pub use cora_runtime::node::{Inherited, NicFiles};
#[cfg(not(target_os = "none"))]
pub use seat::{Over, Seat, TURN_BYTES};
pub use serve::{EXIT_LINK, EXIT_MEMORY, EXIT_REFUSED, serve};
