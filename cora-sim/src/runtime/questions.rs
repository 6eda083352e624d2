//! An operator who lists tables and asks for values at any time, and removes entries.
//!
//! Questions change nothing, so every run has some: its results must be those of a run without. A
//! removal changes outcomes, so a run with removals must be sound, and no more.

use cora_core::app::App;
use cora_core::state::table::{Travelling, Which};
use cora_runtime::link::message::{Questions, Stamp};

use super::host::HostSide;
use super::nic::NicSide;
use crate::apps::SimApp;
use crate::random::Random;

/// The operator.
#[derive(Debug)]
pub(super) struct Operator {
    random: Random,
    /// Something is asked once in this many steps.
    ask_in: u64,
    /// An entry is removed once in this many steps.
    remove_in: u64,
    /// Bytes of a record that every ring can take.
    longest: usize,
}

impl Operator {
    /// Asks as `seed` says; removes entries only if that is `removes`.
    pub(super) fn new(seed: u64, removes: bool, longest: usize) -> Self {
        // A generator of its own keeps the meaning of older seeds.
        let mut random = Random::new(seed ^ 0x6f70_6572_6174_6f72);
        let ask_in = random.pick(&[7, 60, u64::MAX]);
        let remove_in = if removes { random.pick(&[5, 20, 80]) } else { u64::MAX };
        Self { random, ask_in, remove_in, longest }
    }

    /// The same, who also removes entries.
    pub(super) fn that_removes(&self, seed: u64) -> Self {
        Self::new(seed, true, self.longest)
    }

    /// Asks or orders something, or nothing. Returns the number of questions. `packet` is one that
    /// came before.
    pub(super) fn disturb<A: SimApp>(
        &mut self,
        nic: &mut NicSide<A>,
        host: &mut HostSide<A>,
        packet: Option<&(Stamp, Vec<u8>)>,
    ) -> u64 {
        let mut questions = 0;
        if self.random.once_in(self.ask_in) {
            questions += 1;
            self.ask(host, packet);
        }
        if self.random.once_in(self.remove_in) {
            questions += 1;
            self.remove(nic, host);
        }
        questions
    }

    /// Asks either side for entries, for those of a packet, or for a value.
    fn ask<A: SimApp>(&mut self, host: &mut HostSide<A>, packet: Option<&(Stamp, Vec<u8>)>) {
        let state = self.random.below(A::STATES as u64 + 1) as u16;
        let (from, places) = (self.random.below(8) as u32, self.random.below(20) as u32);
        let of_host = self.random.once_in(2);
        match (self.random.below(3), packet) {
            (0, Some((stamp, frame))) if of_host => host.half.find(stamp, frame, &mut |_| {}),
            (0, Some((stamp, frame))) => {
                host.ask(Questions::Find { at_nic: 1, stamp: *stamp, frame });
            }
            (1, _) if of_host => host.half.value(state, &mut |_| {}),
            (1, _) if self.fits(host.half.engine().app(), state) => {
                host.ask(Questions::Export { at_nic: 1, state });
            }
            _ if of_host => {
                host.half.list(state, (from, places), &mut |_| {});
            }
            _ => host.ask(Questions::List { at_nic: 1, state, from, places }),
        }
    }

    /// Whether the rings, which are small here, can take any piece of the state's value.
    fn fits<A: App>(&self, app: &mut A, state: u16) -> bool {
        let bytes = |state| app.described(state).value_bytes();
        let bytes = Some(usize::from(state)).filter(|state| *state < A::STATES).and_then(bytes);
        bytes.is_some_and(|bytes| bytes <= self.longest)
    }

    /// Removes an entry of either side, which the other may have by now.
    fn remove<A: SimApp>(&mut self, nic: &mut NicSide<A>, host: &mut HostSide<A>) {
        let state = self.random.below(A::STATES as u64) as u16;
        let at_nic = self.random.once_in(2);
        let app = if at_nic { nic.core.half.engine().app() } else { host.half.engine().app() };
        let Some(name) = self.name(app, state) else { return };
        if self.random.once_in(2) {
            host.remove(state, &name);
        } else {
            host.ask(Questions::Remove { at_nic: 1, state, name: &name });
        }
    }

    /// The bytes that name some entry of a table.
    fn name(&mut self, app: &mut impl App, state: u16) -> Option<Vec<u8>> {
        let key = app.described(state.into()).layout()?.key;
        let mut names = Vec::new();
        let table: &mut dyn Travelling = app.state(state.into()).as_travelling()?;
        table.list(Which::Places(0, u32::MAX), 0, &mut |_, _, piece| {
            names.push(piece.get(..key).unwrap_or_default().to_vec());
        });
        let at = self.random.below(names.len().max(1) as u64) as usize;
        (at < names.len()).then(|| names.swap_remove(at))
    }
}
