//! The link between two nodes that don't trust each other: rings in shared memory, and their
//! messages.
//!
//! | module | concept |
//! | --- | --- |
//! | [`message`] | the messages on the rings |
//! | [`payload`] | the rests of long frames, while their heads are at the host |
//! | [`region`] | the header of the shared memory |
//! | [`ring`] | the ring between two processes |

pub mod message;
pub mod payload;
pub mod region;
pub mod ring;
