//! What joins two nodes that don't trust each other: rings in shared memory, and what travels on
//! them.
//!
//! | module | concept |
//! | --- | --- |
//! | [`message`] | what travels on the rings |
//! | [`region`] | what begins the shared memory |
//! | [`ring`] | the ring between two processes |

pub mod message;
pub mod region;
pub mod ring;
