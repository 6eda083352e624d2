//! Asks a card whether it would serve this host. Neither a region nor a session of the card is
//! touched.

use std::time::Duration;

use cora_core::app::App;
use cora_link::mirror::hello::{Hello, Refusal};
use cora_link::{End, Heard, Nowhere};
use cora_runtime::link::region::{Region, generation};

use crate::RunError;
use crate::card::relay::{RelayArguments, number};
use crate::card::settings;
use crate::card::turn::Turns;
use crate::card::watch::Watch;
use crate::card::wire::{Party, Wire};
use crate::node::back::RING_BYTES;
use crate::process::log::{self, Part};

/// How long a card that refuses is left alone.
const REFUSED: Duration = Duration::from_secs(1);

/// Asks again and again until the card says that it would serve. Why it would not is logged, if
/// the reason is another one than before.
pub(crate) fn ask<A: App>(arguments: &RelayArguments) -> Result<(), RunError> {
    let (words, mut wire) = arguments.open()?;
    let generation = generation::current(words);
    let region = Region::attach(generation::place(words, generation), A::PLAN.hash);
    let identity = region.map_err(RunError::Region)?.identity();
    let hello = Hello { rings: RING_BYTES, identity, ports: arguments.ports, asks: true }.encode();
    let mut said = None;
    loop {
        match call(&mut wire, &hello)? {
            Refusal::Asked => return Ok(()),
            // A session that was over while it asked.
            Refusal::Over => {}
            refusal => {
                if said.replace(refusal) != Some(refusal) {
                    log::warn(
                        Part::Card,
                        format_args!("the card can't take its place again: {refusal}"),
                    );
                    log::flush();
                }
                std::thread::sleep(REFUSED);
            }
        }
    }
}

/// Calls until the card answers.
fn call(wire: &mut Wire, hello: &[u8]) -> Result<Refusal, RunError> {
    let mut asker =
        Asker { end: End::caller(wire.addresses(), settings(wire.mtu())), answer: None };
    asker.end.call(number(), hello);
    let (mut turns, watch) = (Turns::new(), Watch::over(wire)?);
    loop {
        let busy = wire.turn(&mut asker, turns.now())?;
        if let Some(answer) = asker.answer {
            return Ok(answer);
        }
        turns.rest(busy, &mut asker, &watch.rest(None))?;
    }
}

/// An end that calls, and takes no part.
struct Asker {
    end: End,
    answer: Option<Refusal>,
}

impl Party for Asker {
    fn hear(&mut self, frame: &[u8], now: u64) -> Result<(), RunError> {
        // A frame of another session is none of this end's business.
        if let Ok(Heard::Refusal(code)) = self.end.receive(frame, &mut Nowhere, now) {
            self.answer = Some(Refusal::of_code(code));
        }
        Ok(())
    }

    fn step(&mut self, now: u64, send: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, RunError> {
        self.end.transmit(&mut Nowhere, now, &mut |frame| send(frame));
        Ok(false)
    }

    fn due(&self, _: u64) -> u64 {
        self.end.due()
    }

    fn has_nothing(&mut self) -> Result<bool, RunError> {
        Ok(true)
    }
}
