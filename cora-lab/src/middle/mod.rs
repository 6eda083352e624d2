//! The box in the middle: Cora, or the kernel.

mod cora;
mod kernel;

use serde_json::Value;

pub use self::cora::{Cora, Ports};
pub use self::kernel::Kernel;
use crate::Result;
use crate::connections::Connection;

/// A box between clients and router that does a network function.
pub trait Middle {
    /// Returns its name in tables.
    fn name(&self) -> &'static str;

    /// Reads its connection table; that may end it.
    ///
    /// # Errors
    /// When it ended by itself before, or told nothing.
    fn end(self: Box<Self>) -> Result<Ended>;
}

/// A box's final output.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its connection table.
    pub connections: Vec<Connection>,
    /// Its own report, if it makes one.
    pub report: Option<Value>,
}
