//! The counts of simulations.

use std::fmt;

use super::network::Done;

/// The counts of a simulation, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records that arrived, and were checked.
    pub records: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Ends at the card that began anew, and knew nothing of before.
    pub restarts: u64,
    /// Host halves that died.
    pub host_deaths: u64,
    /// Cards that lost their power.
    pub card_deaths: u64,
    /// NIC halves that ended.
    pub nic_ends: u64,
    /// Frames that a card had taken from the wire when it lost its power.
    pub lost_with_cards: u64,
    /// Frames of earlier sessions that came.
    pub stale: u64,
    /// The frames of the networks, and their faults.
    pub network: Done,
}

impl Tally {
    /// Adds the counts of another one.
    pub const fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.sessions += other.sessions;
        self.restarts += other.restarts;
        self.host_deaths += other.host_deaths;
        self.card_deaths += other.card_deaths;
        self.nic_ends += other.nic_ends;
        self.lost_with_cards += other.lost_with_cards;
        self.stale += other.stale;
        self.network.add(&other.network);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, sessions, restarts, host_deaths, card_deaths, nic_ends, .. } = self;
        writeln!(f, "{records} records, {sessions} sessions, {restarts} ends that began anew")?;
        write!(f, "{host_deaths} host halves died, {card_deaths} cards lost their power ")?;
        writeln!(f, "(with {} frames), {nic_ends} NIC halves ended", self.lost_with_cards)?;
        write!(f, "{}; {} were of an earlier session", self.network, self.stale)
    }
}
