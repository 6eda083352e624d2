//! The plan of a program.
//!
//! | module | contents |
//! | --- | --- |
//! | [`choice`] | the stated plan |
//! | [`target`] | the searched plan |
//! | [`rests`] | states lost with the host, and entries that rest on them |

pub mod choice;
pub mod rests;
pub mod target;
