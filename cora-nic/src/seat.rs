//! A NIC half among others of its program in one process, on the machine of the host: each has a
//! region and a memory of its own, and works when it is told to.
#![expect(unsafe_code, reason = "unmaps the memory of halves that have left")]

use core::sync::atomic::AtomicU64;

use cora_core::app::App;
use cora_core::state::{Line, OutOfMemory};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::link::region::NicStatus;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Egress as _, NicLoop};

use crate::link::RegionEnds;
use crate::serve::{Round, Server, attach, broken, make_half_of, map, no_memory};
use crate::sys;

/// Most rounds of a turn.
const MOST_ROUNDS: u32 = 512;

/// Bytes of the buffer of a turn.
pub const TURN_BYTES: usize = BURST_BYTES;

/// Address and length of a mapping.
type Mapped = (usize, usize);

/// A half in its place. It is dropped before its memory is unmapped.
pub struct Seat<A: App> {
    half: Option<NicHalf<A>>,
    server: Option<Server<A>>,
    words: &'static [AtomicU64],
    /// The memory of states, and that beside them.
    memory: [Option<Mapped>; 2],
}

/// The half is over, well or not: its region says which.
#[derive(Clone, Copy, Debug)]
pub struct Over;

impl<A: App> core::fmt::Debug for Seat<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Seat").field("works", &self.half.is_some()).finish_non_exhaustive()
    }
}

impl<A: App> Seat<A> {
    /// A half on the regions in this file; `None` if it can't begin.
    #[must_use]
    pub fn begin(fd: i32, length: usize) -> Option<Self> {
        // Others wait meanwhile: pages are made when they are touched.
        let words = map(fd, length, false)?;
        let mut begun = Self { half: None, server: None, words, memory: [None; 2] };
        let region = attach::<A>(words).ok()?;
        let memory = &mut begun.memory;
        let made = make_half_of::<A>(&region, None, &mut |bytes, _| {
            let lines = sys::map_private(bytes, false);
            let lines = lines.ok_or(OutOfMemory { asked: bytes, left: 0 })?;
            let mapped = (lines.as_ptr().addr(), lines.len() * Line::BYTES);
            // A half is made of two.
            if let Some(place) = memory.iter_mut().find(|place| place.is_none()) {
                *place = Some(mapped);
            }
            Ok(lines)
        });
        match made {
            Ok(half) => begun.half = Some(half),
            Err(error) => {
                let _status = no_memory(&region, &error);
                return None;
            }
        }
        begun.enter(NicLoop::new(), 0).ok()?;
        Some(begun)
    }

    /// Goes to the current region.
    fn enter(&mut self, rounds: NicLoop<A>, host_away: u64) -> Result<(), Over> {
        let region = attach::<A>(self.words).map_err(|_status| Over)?;
        let ends = RegionEnds::new(&region, self.words, host_away);
        region.set_nic_status(NicStatus::Ready);
        let mut server = Server { region, ends, rounds, beat: 0 };
        if let Some(half) = &mut self.half {
            server.begin(half);
        }
        self.server = Some(server);
        Ok(())
    }

    /// Works until there is nothing to do, or for so many rounds: a host that sends without end
    /// holds nobody up.
    ///
    /// # Errors
    /// If it is over. It has told its region how.
    pub fn turn(&mut self, buffer: &mut [u8]) -> Result<(), Over> {
        let begun = sys::now_ns();
        for _ in 0..MOST_ROUNDS {
            let (Some(half), Some(server)) = (&mut self.half, &mut self.server) else {
                return Err(Over);
            };
            match server.round(half, buffer) {
                Ok(Round::Busy) => {}
                Ok(Round::Idle(turn)) => {
                    server.end_turn(turn, begun);
                    return Ok(());
                }
                Ok(Round::Followed) => {
                    let away = server.ends.out.host_away();
                    let rounds = server.rounds.with_another_host();
                    self.enter(rounds, away)?;
                }
                Ok(Round::Over) => {
                    server.region.set_nic_status(NicStatus::Done);
                    server.end_turn(server.region.turn(), begun);
                    return Err(Over);
                }
                Err(error) => {
                    let _status = broken(&server.region, &error);
                    server.end_turn(server.region.turn(), begun);
                    return Err(Over);
                }
            }
        }
        if let Some(server) = &self.server {
            server.end_turn(server.region.turn(), begun);
        }
        Ok(())
    }

    /// Nothing is left of it but its region.
    pub fn leave(&mut self) {
        (self.half, self.server) = (None, None);
    }
}

impl<A: App> Server<A> {
    /// Ends a turn that began then.
    fn end_turn(&self, turn: u64, begun: u64) {
        self.region.tell_turn_ns(sys::now_ns().saturating_sub(begun));
        self.ends.out.end_turn(turn);
    }
}

impl<A: App> Drop for Seat<A> {
    fn drop(&mut self) {
        self.leave();
        for (address, bytes) in self.memory.iter_mut().filter_map(Option::take) {
            // SAFETY: the half had this memory, and was dropped above. It was never elsewhere.
            unsafe { sys::unmap(address, bytes) };
        }
        // SAFETY: the same of the server, which had the regions.
        unsafe { sys::unmap(self.words.as_ptr().addr(), size_of_val(self.words)) };
    }
}
