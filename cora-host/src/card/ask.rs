//! Asks a card whether it would serve this host. Neither a region nor a session of the card is
//! touched.

use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_link::mirror::hello::{Hello, Refusal};
use cora_link::{Destination, End, Heard};
use cora_runtime::link::region::{Region, generation};

use crate::RunError;
use crate::card::relay::{RelayArguments, number};
use crate::card::settings;
use crate::card::turn::Turns;
use crate::card::wire::Wire;
use crate::node::back::RING_BYTES;
use crate::process::log;

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
                    log::say(format_args!("the card can't take its place again: {refusal}"));
                    log::flush();
                }
                let left = Instant::now();
                while left.elapsed() < REFUSED {
                    wire.receive(&mut |_| {})?;
                    wire.wait(REFUSED.saturating_sub(left.elapsed()), Vec::new());
                }
            }
        }
    }
}

/// Calls until the card answers.
fn call(wire: &mut Wire, hello: &[u8]) -> Result<Refusal, RunError> {
    let mut end = End::caller(wire.addresses, settings(wire.mtu));
    end.call(number(), hello);
    let mut turns = Turns::new();
    loop {
        let now = turns.now();
        let mut answer = None;
        let came = wire.receive(&mut |frame| {
            // A frame of another session is none of this end's business.
            if let Ok(Heard::Refusal(code)) = end.receive(frame, &mut Nothing, now) {
                answer = Some(Refusal::of_code(code));
            }
        })?;
        if let Some(answer) = answer {
            return Ok(answer);
        }
        end.transmit(&mut Nothing, now, &mut |frame| wire.send(frame));
        wire.flush()?;
        if let Some(nap) = turns.over(came > 0) {
            wire.wait(nap, Vec::new());
        }
    }
}

/// Where no record arrives: there is no session.
struct Nothing;

impl Destination for Nothing {
    fn frames(&mut self, _: usize) -> u64 {
        0
    }

    fn take(&mut self, _: u16, _: &[u8]) {}
}
