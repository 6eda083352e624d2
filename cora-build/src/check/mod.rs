//! What one item may contain. Each pass holds the item against its rules, puts every breach into
//! the sink, and returns the item as the next stage wants it.

mod body;
mod duration;
pub(crate) mod fields;
pub(crate) mod handler;
mod key;
pub(crate) mod number;
pub(crate) mod parameter;
#[cfg(feature = "script")]
pub mod paths;
pub(crate) mod state;
pub(crate) mod transparent;
