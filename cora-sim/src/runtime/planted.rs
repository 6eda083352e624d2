//! Planted mistakes: a sound test detects them.

use super::killed::killed;
use super::lies::lied_to;
use super::{Liar, Ran, ran};
use crate::apps::Share;
use crate::apps::firewall::Firewall;
use crate::apps::judged::Judging;
use crate::apps::marks::Marking;
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
}

/// Packets of a run.
const PACKETS: u32 = 48;

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
        Planted::LosesCopies => killed::<Share<1024>>(&marked(), seed, 3, Some(planted)),
        Planted::EndsTheOther => {
            lied_to::<Share<1024>>(&marked(), seed, (Liar::Nic, 1), Some(planted))
        }
    }
}
