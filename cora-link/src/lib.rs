//! Records between host and card over Ethernet, each once and in order, whatever the network does
//! to frames: it may lose, double, delay, reorder and damage them. A state machine; its owner has
//! the clock and the sockets.
//!
//! ```text
//!   host: Caller                                card: Answerer
//!     call(number, words) ── Call ───────────────→  Heard::Call: accept(number), or refuse(code)
//!     Heard::Answer ←──────── Answer ────────────
//!     push(record) ────────── Data ──────────────→  Destination::take(record)
//!                  ←───────── Data, Idle ────────   acknowledges, and allows more
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | [`frame`] | a frame's header: encoded, checked, decoded |
//! | [`end`] | an end of a link: session, timers, counts |
//! | `settings` | its sizes and times |
//! | `destination` | where records go |
//! | `fault` | faults of a peer |
//! | `window` | the sender: frames that are not acknowledged yet |
//! | `arrivals` | the receiver: order, gaps, credit |
//! | `pack` | records in frames |
//! | [`mirror`] | a region in two memories, joined by a link |
//!
//! # Why each record arrives once and in order
//!
//! 1. *Numbers.* Data frames of a session are numbered from 0. The receiver takes the frame with
//!    the number that it expects, and drops all others. So frames that come twice, late or early
//!    change nothing. The sender keeps a frame until it is acknowledged.
//! 2. *Damage.* A CRC32C covers addresses, header and records. Ethernet's own sum doesn't cover
//!    memory and virtual wires.
//! 3. *Sessions.* The caller numbers its calls upwards, and the answerer adds a number of its own
//!    by chance. Frames carry both. So no frame of an earlier session, of an earlier process at
//!    either end, or of another pair is taken; a call that is no newer than the last one is not
//!    heard.
//! 4. *Room.* A frame is sent only if its number is below the receiver's limit, and the limit
//!    counts room that is free at the destination. So a frame that comes in order always fits, and
//!    it is acknowledged only when its records are there.
//!
//! # Losses
//!
//! A frame behind a gap makes the receiver ask for the missing number, once; the sender goes back
//! to it. If that is lost too, the oldest frame is sent again after a time that doubles until
//! something is acknowledged, and the rest follows only then. An end that sends nothing else says
//! every [`Settings::beat`] where it stands.
#![forbid(unsafe_code)]

mod arrivals;
mod destination;
pub mod end;
mod fault;
pub mod frame;
pub mod mirror;
mod pack;
mod settings;
mod window;

pub use destination::{Destination, Nowhere};
pub use end::{Counts, End, Full, Heard};
pub use fault::Fault;
pub use frame::{Addresses, ETHERTYPE, HEADER, LONGEST_CALL};
pub use pack::{LONGEST_RECORD, RECORD_HEADER};
pub use settings::Settings;
