//! The exit statuses of a NIC half's process. It ends with 0 when the host ends the run.

/// The region is not one that this program can serve.
pub const EXIT_REFUSED: i32 = 3;
/// Messages on the rings make no sense.
pub const EXIT_LINK: i32 = 4;
/// There is no memory for the states.
pub const EXIT_MEMORY: i32 = 5;
