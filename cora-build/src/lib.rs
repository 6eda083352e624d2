//! Reads a Cora program.
//!
//! One front end serves two readers: the attribute macros (`cora-macros`), which see one item at a
//! time, and build scripts, which see the whole program. Every pass takes the value of the previous
//! pass and a sink for its diagnostics. It modifies neither that value nor earlier diagnostics.
//!
//! ```text
//! source ─► syntax ─► check ─┬─► expand            one item      (macros)
//!                            └─► graph ─► plan ─► emit  a program (build scripts)
//! ```
//!
//! ```
//! use cora_build::diag::{Diagnostics, Reader};
//! use cora_build::item;
//!
//! let mut diagnostics = Diagnostics::new();
//! let item = "fn pass(packet: &mut Packet) -> Verdict { Pass }".parse().unwrap();
//! let handler = item::parse_handler(Default::default(), item, Reader::Macro, &mut diagnostics);
//! assert_eq!(handler.unwrap().name, "pass");
//! assert!(diagnostics.is_empty());
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`diag`] | codes, their catalogue, and the rendering of faults |
//! | [`syntax`] | an annotated item, as a value |
//! | [`check`] | the rules for one item |
//! | [`item`] | both: an item, read and checked |
//! | `analyse` | the paths of a handler: for build scripts |
//! | [`expand`] | the expansions of the attributes |
//! | `script` | the whole program: for build scripts (feature `script`) |
#![forbid(unsafe_code)]

#[cfg(feature = "script")]
pub mod analyse;
pub mod check;
pub mod diag;
pub mod expand;
pub mod item;
#[cfg(feature = "script")]
pub mod script;
pub mod syntax;

#[cfg(feature = "script")]
pub use script::build;
