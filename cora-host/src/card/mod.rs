//! A card at the other end of a wire: the processes at both ends. Each joins its link's frames with
//! the region of its side ([`cora_link::mirror`]).
//!
//! ```text
//!   supervisor ─ starts ─→ relay ════ frames ════ agent ─ starts ─→ NIC half
//!   region of the host ──────┘                      └────── region of the card
//! ```
//!
//! For its supervisor the relay is the NIC half: it ends as that does, and with the card.
//!
//! | module | content |
//! | --- | --- |
//! | `wire` | frames to and from the other end: an interface, or a socket |
//! | `relay` | the host's process |
//! | `ask` | the host's process that only asks, while another half has the card's place |
//! | `agent` | the card's process |
//! | `front` | the card's own ports |
//! | `succession` | the programs that an agent can be |
//! | `turn` | the turns of both |
//! | `watch` | their rests: until a frame comes, or a half rings |

pub(crate) mod agent;
pub(crate) mod ask;
mod front;
pub(crate) mod relay;
mod succession;
pub(crate) mod turn;
pub(crate) mod watch;
pub(crate) mod wire;

use cora_link::Settings;

/// The link's settings on a wire with this MTU. Both ends may stand still for a while, as emulators
/// do. Then the other one waits; the supervisor's patience ends it.
pub fn settings(mtu: usize) -> Settings {
    const SILENCE: u64 = 5_000_000_000;
    Settings { lost_after: SILENCE, ..Settings::of_mtu(mtu) }
}
