//! Planted mistakes: a sound test detects them.

use super::in_part::hooked;
use super::killed::killed;
use super::lies::lied_to;
use super::messages::{Messages, run_messages};
pub use super::mistaken::Mistake;
use super::{Liar, Ran, ran};
use crate::apps::Share;
use crate::apps::actors::Actors;
use crate::apps::crowd::Crowd;
use crate::apps::firewall::Firewall;
use crate::apps::judged::Judging;
use crate::apps::marks::Marking;
use crate::apps::tickets::{Kept as KeptTickets, Ticketing};
use crate::traffic;

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Entries expire by the wall clock.
    WallClock,
    /// One replica of three is not stored, but reported as stored.
    LosesCopies,
    /// A lie ends the half that detected it.
    EndsTheOther,
    /// The host omits one piece of each change of read-mostly states.
    TearsVersions,
    /// The host forgets the entries that ended at the NIC.
    LosesRecords,
    /// The NIC tells of an end only behind the packet that its hook may be due before.
    TellsEndsLate,
    /// The NIC does not tell its time, not even in front of a fence.
    TellsNoTime,
    /// The NIC tells its time in front of fences only. This is no mistake: hooks then run late, but
    /// between the same packets.
    NoTicks,
    /// Packets for the host don't wait for a flow whose fence was long ago.
    NeverWaits,
    /// The NIC tells the beginning of an epoch only behind the epoch's first packet for the host.
    TurnsLate,
    /// The host does not get the NIC's part of a merge.
    LosesParts,
    /// What a hook changed takes effect before the replica of its entry ends.
    EffectFirst,
    /// A mistake with messages.
    Messages(Mistake),
    /// The host keeps the news of an end on the ring while the hook runs.
    ReleasesLate,
}

/// Packets of a run.
const PACKETS: u32 = 48;
/// Packets of a run with hooks and kills: a kill beside a hook is rare.
const MANY: u32 = 200;

/// Runs a simulation with a planted mistake. An error describes the violation.
pub fn run_planted(planted: Planted, seed: u64) -> Result<Ran, String> {
    let marked = || traffic::make_filled::<Marking<Share<1024>>>(seed, PACKETS, 0);
    match planted {
        Planted::WallClock => {
            let case = traffic::make_filled::<Firewall<Share<1024>>>(seed, PACKETS, 0);
            ran::<Firewall<Share<1024>>>(&case, seed, Some(planted))
        }
        Planted::TearsVersions | Planted::LosesRecords => {
            let case = traffic::make_filled::<Judging<Share<1024>>>(seed, PACKETS, 0);
            ran::<Judging<Share<1024>>>(&case, seed, Some(planted))
        }
        Planted::TellsEndsLate | Planted::TellsNoTime | Planted::NoTicks | Planted::NeverWaits => {
            let case = traffic::make_filled::<Ticketing<Share<1024>>>(seed, PACKETS, 0);
            hooked::<Share<1024>>(&case, seed, 0, Some(planted))
        }
        Planted::TurnsLate | Planted::LosesParts => {
            let case = traffic::make_filled::<Crowd<Share<1024>>>(seed, PACKETS, 0);
            ran::<Crowd<Share<1024>>>(&case, seed, Some(planted))
        }
        Planted::EffectFirst | Planted::ReleasesLate => {
            let case = traffic::make_filled::<Ticketing<KeptTickets>>(seed, MANY, 0);
            hooked::<KeptTickets>(&case, seed, 12, Some(planted))
        }
        Planted::Messages(_) => {
            let planted = Some(planted);
            let messages = Messages { packets: PACKETS, settled: false, kills: 0, planted };
            run_messages::<Actors<Share<1024>>>(seed, messages)
        }
        Planted::LosesCopies => killed::<Share<1024>>(&marked(), seed, 3, Some(planted)),
        Planted::EndsTheOther => {
            lied_to::<Share<1024>>(&marked(), seed, (Liar::Nic, 1), Some(planted))
        }
    }
}
