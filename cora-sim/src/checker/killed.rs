//! A side is killed between two steps, and another one begins, as the processes do it. What it sent
//! is on the rings and is taken; what it had in memory is gone. Kills within a step are for the
//! simulations.
//!
//! The side that lives on hears of it at once. To hear of it late is the same as a later kill:
//! until then the dead one is one that takes nothing.

use cora_runtime::link::message::{Frames, Kind, Message};
use cora_runtime::ownership::{Admission, Order};

use super::world::{Ends, FLOWS, NOW, World};
use crate::halves;
use crate::link::{Ring, Sabotage};
use crate::nic_core::NicCore;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The NIC's half.
    Nic,
    /// The host's half.
    Host,
    /// The host's, and the NIC's before it could say to the next host what it owns: two kills.
    Both,
}

impl Side {
    /// How many kills it takes.
    pub(super) const fn kills(self) -> u8 {
        match self {
            Self::Nic | Self::Host => 1,
            Self::Both => 2,
        }
    }
}

/// The number of a packet that goes to the host, or that is done there.
fn packet_of((kind, bytes): &(u16, Vec<u8>)) -> Option<(bool, u64)> {
    match Message::decode(*kind, bytes)? {
        Message::Frames(Frames::Punt { stamp, .. }) => Some((false, stamp.number)),
        Message::Frames(Frames::Send { stamp, .. }) => Some((true, stamp.number)),
        _ => None,
    }
}

/// The flow of a packet, and its number in that.
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

    /// What the NIC sent is handled; packets that are done leave by the next one; those that waited
    /// in it are lost.
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

    /// Packets that came, did not leave, and are not done either.
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

    /// Packets that are done leave; what flows were to do is void; packets that it did not take are
    /// lost. The next one begins with the copies, and will hear from the NIC what is owned there.
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

    /// The time of the latest packet.
    fn latest(&self) -> u64 {
        if self.fed == [0; FLOWS] { 0 } else { NOW }
    }
}
