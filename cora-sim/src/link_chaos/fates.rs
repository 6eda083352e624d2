//! Fates of a region: none, or the end of its host halves, its cards, or its NIC half.

use cora_link::mirror::host::Standing;

use super::Tally;
use super::region::{Case, World};

/// Nothing befalls it. In the end nothing is left anywhere.
pub fn undisturbed(case: Case) -> Result<Tally, String> {
    let mut world = World::new(case, 30)?;
    world.run_until(500, "nothing leaves", |world| world.host.seen.out >= 500)?;
    let seen = &world.host.seen;
    if (seen.noted, seen.left) != (Some(499), Some(499)) {
        return Err(format!("other frames left than were fed in: {seen:?}"));
    }
    for _ in 0..2_000 {
        world.round(500)?;
    }
    if !case.is_apart && world.heard() != Some(499) {
        return Err(format!("the NIC half heard {:?} of 499", world.heard()));
    }
    goes_on(&world)?;
    world.end()
}

fn goes_on(world: &World) -> Result<(), String> {
    match world.standing() {
        Standing::GoesOn => Ok(()),
        other => Err(format!("the session is over: {other:?}")),
    }
}

fn each_left_once(world: &World) -> Result<(), String> {
    let (fed, out) = (world.host.fed, world.host.seen.out);
    if out == fed { Ok(()) } else { Err(format!("{fed} frames were fed in, and {out} left")) }
}

/// Runs fewer rounds than `most`; in half of all cases, from when the NIC half is there. In the
/// others it may not be there yet, and then nothing dies.
fn runs_a_while(world: &mut World, most: u64) -> Result<(), String> {
    if world.draw.once_in(2) {
        world.run_until(u64::MAX, "no NIC half comes", |world| world.host.is_joined())?;
    }
    for _ in 0..world.draw.below(most) {
        world.round(u64::MAX)?;
    }
    Ok(())
}

/// Host halves die: nothing is lost, and nothing comes twice.
pub fn hosts_die(case: Case) -> Result<Tally, String> {
    let mut world = World::new(case, 30 + case.seed % 100)?;
    for _ in 0..4 {
        runs_a_while(&mut world, 120)?;
        world.host_dies()?;
    }
    let until = world.host.fed.max(world.host.said);
    world.run_until(until, "nothing leaves", |world| world.host.seen.out >= until)?;
    each_left_once(&world)?;
    goes_on(&world)?;
    world.end()
}

/// Cards lose their power: frames that had left do not leave again, and frames that a card had not
/// taken leave by the next one.
pub fn cards_die(case: Case) -> Result<Tally, String> {
    let mut world = World::new(case, 30 + case.seed % 100)?;
    for _ in 0..3 {
        runs_a_while(&mut world, 200)?;
        world.card_dies()?;
    }
    let until = world.host.fed + 50;
    let is_last = |world: &World| world.host.seen.left == Some(until - 1);
    world.run_until(until, "the last frame does not leave", is_last)?;
    goes_on(&world)?;
    let lost_with_cards = until - world.host.seen.out;
    Ok(Tally { lost_with_cards, ..world.end()? })
}

/// A NIC half ends: the host hears so behind all that it said.
pub fn nic_ends(case: Case) -> Result<Tally, String> {
    const STATUS: u64 = 134;
    let mut world = World::new(case, 100)?;
    world.run_until(u64::MAX, "nothing leaves", |world| world.host.seen.out >= 20)?;
    // It ended between two steps, and published all.
    world.nic_ends(STATUS)?;
    let fed = world.host.fed;
    let is_told = |world: &World| world.standing() != Standing::GoesOn;
    world.run_until(fed, "the host hears of no end", is_told)?;
    if world.standing() != Standing::Ended(STATUS) {
        return Err(format!("the NIC half ended otherwise: {:?}", world.standing()));
    }
    world.round(fed)?;
    if world.host.seen.left != world.host.seen.noted {
        return Err(format!("something is missing before the end: {:?}", world.host.seen));
    }
    world.run_until(fed, "the card does not know that it was heard", World::is_over)?;
    world.end()
}

/// The fate of the region of this seed.
pub(super) fn run(case: Case) -> Result<Tally, String> {
    // The lowest bits say other things.
    match (case.seed >> 4) % 16 {
        0 => undisturbed(case),
        1..8 => hosts_die(case),
        8..15 => cards_die(case),
        _ => nic_ends(case),
    }
}
