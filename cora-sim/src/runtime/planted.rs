//! Mistakes that are made on purpose: what does not notice them is no test.

use super::killed::killed;
use super::lies::lied_to;
use super::{Liar, Ran, ran};
use crate::apps::Share;
use crate::apps::firewall::Firewall;
use crate::apps::judged::Judging;
use crate::apps::marks::Marking;
use crate::traffic;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Entries live by the wall clock.
    WallClock,
    /// One copy of three is not kept, and is said to be.
    LosesCopies,
    /// A lie ends the half that noticed it.
    EndsTheOther,
    /// The host leaves out one piece of each change of read-mostly states.
    TearsVersions,
    /// The host forgets the entries that ended at the NIC.
    LosesRecords,
}

/// Packets of a run.
const PACKETS: u32 = 48;

/// Runs a simulation with this mistake in it. An error says what broke.
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
