//! Kills a side between two steps, and starts another one, as the processes do. Messages that it
//! sent are on the rings and are taken; its memory is lost. Kills within a step are left to the
//! simulations.
//!
//! The other side learns of the kill at once. To learn of it late equals a later kill: until then,
//! the dead side is one that takes nothing.

use cora_runtime::link::message::{Frames, Kind, Message};
use cora_runtime::ownership::{Admission, Order};

use super::world::{Ends, FLOWS, NOW, World};
use crate::halves;
use crate::link::{Ring, Sabotage};
use crate::nic_core::NicCore;

/// The side that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The NIC's half.
    Nic,
    /// The host's half.
    Host,
    /// Both halves: the NIC's before it reported its flows to the next host. These are two kills.
    Both,
}

impl Side {
    /// Returns the number of kills.
    pub(super) const fn kills(self) -> u8 {
        match self {
            Self::Nic | Self::Host => 1,
            Self::Both => 2,
        }
    }
}

/// Returns the number of a packet that goes to the host or is finished there; `true` if finished.
fn packet_of((kind, bytes): &(u16, Vec<u8>)) -> Option<(bool, u64)> {
    match Message::decode(*kind, bytes)? {
        Message::Frames(Frames::Punt { stamp, .. }) => Some((false, stamp.number)),
        Message::Frames(Frames::Send { stamp, .. }) => Some((true, stamp.number)),
        _ => None,
    }
}

/// Returns the flow of a packet, and its number in the flow.
const fn place(number: u64) -> (usize, u32) {
    (number as usize / 16, number as u32 % 16)
}

impl World<'_> {
    pub(super) fn kill(&mut self, side: Side) -> Result<(), String> {
        match side {
            Side::Nic => self.kill_nic(),
            Side::Host => {
                self.kill_host()?;
                if self.scenario.sabotage != Sabotage::NotGreeted {
                    let mut ends = Ends { punt: &mut self.punt, left: &mut self.left };
                    self.nic.greet(&mut ends, false);
                }
                Ok(())
            }
            Side::Both => {
                self.kill_host()?;
                self.kill_nic()
            }
        }
    }

    /// Kills the NIC. The host handles its messages; finished packets leave by the next NIC;
    /// packets that waited in it are lost.
    fn kill_nic(&mut self) -> Result<(), String> {
        while !self.punt.is_empty() {
            self.serve_host()?;
        }
        if self.scenario.sabotage != Sabotage::KeepOrders {
            self.back.keep_only(Kind::Send.number());
        }
        self.lose_what_waits();
        if self.scenario.sabotage != Sabotage::NotReclaimed {
            self.host.nic_lost(&mut self.copies);
        }
        let mut ends = Ends { punt: &mut self.punt, left: &mut self.left };
        self.nic = NicCore::begun(halves::nic(&mut self.supply, 1, 0, None), &mut ends);
        Ok(())
    }

    /// Records the packets as lost that came, did not leave, and are not finished either.
    fn lose_what_waits(&mut self) {
        let done: Vec<_> =
            self.back.records().filter_map(packet_of).map(|it| place(it.1)).collect();
        for flow in 0..FLOWS {
            let came = 0..self.fed[flow] as u32;
            let is_safe =
                |number: &u32| self.left[flow].contains(number) || done.contains(&(flow, *number));
            self.lost[flow].extend(came.filter(|number| !is_safe(number)));
        }
    }

    /// Kills the host. Finished packets leave; other messages to the NIC are void; untaken packets
    /// are lost. The next host begins with the replicas, and the NIC reports its flows.
    fn kill_host(&mut self) -> Result<(), String> {
        self.back.keep_only(Kind::Send.number());
        while !self.back.is_empty() {
            self.serve_nic()?;
        }
        let mut rest = std::mem::replace(&mut self.punt, Ring::new(self.scenario.sabotage));
        self.host = halves::host(&mut self.supply, 1, true);
        while let Some(record) = rest.pop() {
            if let Some((false, number)) = packet_of(&record) {
                let (flow, number) = place(number);
                self.lost[flow].insert(number);
            }
            let message = Message::decode(record.0, &record.1).ok_or("no message")?;
            if self.scenario.sabotage != Sabotage::NotCaughtUp {
                self.host.catch_up(&message, &mut self.copies);
            }
        }
        self.host.take_over(self.latest(), &mut self.copies, false);
        self.host.follow(&Order::Admit(Admission::NONE), &mut self.back);
        Ok(())
    }

    /// Returns the time of the latest packet.
    fn latest(&self) -> u64 {
        if self.fed == [0; FLOWS] { 0 } else { NOW }
    }
}
