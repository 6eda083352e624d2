//! What one item may contain. Each pass holds the item against its rules, puts every breach into the
//! sink, and returns the item as the next stage wants it.

pub mod access;
mod body;
mod duration;
pub(crate) mod fields;
pub(crate) mod handler;
mod key;
pub(crate) mod number;
mod parameter;
pub(crate) mod state;
