//! Checks of one item. Each pass checks the item's rules, reports every breach to the sink, and
//! returns the item in the form for the next stage.

mod body;
mod bucket;
mod duration;
pub(crate) mod fields;
pub(crate) mod handler;
mod hook;
mod key;
pub(crate) mod message;
pub(crate) mod number;
mod objects;
pub(crate) mod parameter;
pub(crate) mod region;
pub(crate) mod state;
mod timer;
mod times;
pub(crate) mod transparent;
pub(crate) mod value;
