//! The cache before a server with many threads, in any order of all that happens: the clients'
//! history must be linearizable. A cache that takes any answer of the server, as NICA's and BMC's
//! do, must be found out.

use std::collections::BTreeMap;

use cache::item::{Change, Item, Present, Question};
use cache::said::Value;
use cora::prelude::*;

use crate::checker::{NEVER, Operation, check};
use crate::random::Random;

/// A cache: it sees requests by their numbers, and values.
trait Policy: Default {
    /// A question passes. `Some`: it is answered here.
    fn get(&mut self, request: usize) -> Option<u64>;
    fn set(&mut self, request: usize, value: u64);
    fn told(&mut self, request: usize, value: u64);
    fn stored(&mut self, request: usize);
    /// The table is full.
    fn evict(&mut self);
}

/// Forgets at a write, and believes any answer.
#[derive(Default)]
struct Nica(Option<u64>);

impl Policy for Nica {
    fn get(&mut self, _: usize) -> Option<u64> {
        self.0
    }

    fn set(&mut self, _: usize, _: u64) {
        self.0 = None;
    }

    fn told(&mut self, _: usize, value: u64) {
        self.0 = Some(value);
    }

    fn stored(&mut self, _: usize) {}

    fn evict(&mut self) {
        self.0 = None;
    }
}

/// The example's own item; time stands still, so a change is under way until it is answered.
#[derive(Default)]
struct Ours {
    item: Option<Item>,
    /// The changes that will be answered.
    pending: BTreeMap<usize, ()>,
}

const NOW: Present = Present { now: 1, quiet_until: 0, life: 1_000, settle: 1_000 };

fn question(request: usize) -> Question {
    Question { address: Address::v4([10, 0, 0, 1]), port: 7, request: request as u16 }
}

fn value(number: u64) -> Value {
    Value { flags: 0, data: Bytes::of(&number.to_le_bytes()).unwrap() }
}

impl Policy for Ours {
    fn get(&mut self, request: usize) -> Option<u64> {
        let Some(item) = &mut self.item else {
            self.item = Some(Item::asked(question(request), NOW.now));
            return None;
        };
        if let Some(value) = item.answer(&NOW) {
            return value.data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        }
        item.ask(question(request), &NOW);
        None
    }

    fn set(&mut self, request: usize, number: u64) {
        let value = value(number);
        let change = Change::Set(&value);
        match &mut self.item {
            Some(item) => item.change(change, &NOW),
            None => self.item = Some(Item::changed(change, NOW.now)),
        }
        self.pending.insert(request, ());
    }

    fn told(&mut self, request: usize, number: u64) {
        if let Some(item) = &mut self.item {
            item.told(question(request), &value(number), &NOW);
        }
    }

    fn stored(&mut self, request: usize) {
        if self.pending.remove(&request).is_some()
            && self.item.as_mut().is_some_and(|item| !item.settle(true))
        {
            self.item = None;
        }
    }

    fn evict(&mut self) {
        self.item.take_if(|item| !item.is_changing());
    }
}

/// How nasty a network and a server are.
#[derive(Clone, Copy, Debug)]
struct World {
    /// One of so many datagrams is lost; 0: none.
    loses: u64,
    evicts: bool,
    /// The server answers requests in the order of their arrival.
    in_order: bool,
}

const CLIENTS: usize = 3;
const OPERATIONS: usize = 7;

/// A datagram under way: the operation, and in an answer to a question the value.
type Way = Vec<(usize, Option<u64>)>;

/// What clients see of one item, one history.
fn history<P: Policy>(world: World, random: &mut Random) -> Vec<Operation> {
    let (mut cache, mut stored, mut time) = (P::default(), 0, 0);
    let mut ways: [Way; 4] = Default::default();
    let mut history: Vec<Operation> = Vec::new();
    let mut busy = [None; CLIENTS];
    loop {
        time += 1;
        if world.evicts && random.below(20) == 0 {
            cache.evict();
        }
        let is_free = busy.contains(&None) && history.len() < OPERATIONS;
        let mut acts: Vec<usize> = (0..ways.len()).filter(|way| !ways[*way].is_empty()).collect();
        acts.extend(is_free.then_some(ways.len()));
        if acts.is_empty() {
            break;
        }
        let act = acts[random.below(acts.len() as u64) as usize];
        if act == ways.len() {
            let client = busy.iter_mut().find(|it| it.is_none()).unwrap();
            *client = Some(history.len());
            ways[0].push((history.len(), None));
            let is_write = random.below(5) < 2;
            let value = if is_write { history.len() as u64 + 1 } else { 0 };
            history.push(Operation { item: 0, is_write, value, begin: time, end: NEVER });
            continue;
        }
        let is_in_order = world.in_order && (act == 1 || act == 2);
        let last = ways[act].len() as u64;
        let at = if is_in_order { 0 } else { random.below(last) as usize };
        let (operation, told) = ways[act].remove(at);
        let Operation { is_write, value, .. } = history[operation];
        let is_lost = world.loses > 0 && act < 3 && random.below(world.loses) == 0;
        if is_lost {
            // The client gives up. What it wrote may be executed, or not.
            busy.iter_mut().filter(|it| **it == Some(operation)).for_each(|it| *it = None);
        }
        match act {
            0 if is_lost && random.below(2) == 0 => {}
            0 if is_write => {
                cache.set(operation, value);
                if !is_lost {
                    ways[1].push((operation, None));
                }
            }
            0 => match cache.get(operation) {
                Some(value) => ways[3].push((operation, Some(value))),
                None if is_lost => {}
                None => ways[1].push((operation, None)),
            },
            1 if is_lost => {}
            1 if is_write => {
                stored = value;
                ways[2].push((operation, None));
            }
            1 => ways[2].push((operation, Some(stored))),
            2 => {
                match told {
                    Some(value) => cache.told(operation, value),
                    None => cache.stored(operation),
                }
                if !is_lost {
                    ways[3].push((operation, told));
                }
            }
            _ => {
                history[operation].end = time;
                if let Some(told) = told {
                    history[operation].value = told;
                }
                busy.iter_mut().filter(|it| **it == Some(operation)).for_each(|it| *it = None);
            }
        }
    }
    history.retain(|it| it.is_write || it.end != NEVER);
    history
}

fn wrong<P: Policy>(world: World, histories: u32) -> u32 {
    let mut random = Random::new(7);
    let is_wrong = |_: &u32| !check(&mut history::<P>(world, &mut random)).is_empty();
    (0..histories).filter(is_wrong).count() as u32
}

const WORLDS: [World; 4] = [
    World { loses: 0, evicts: false, in_order: true },
    World { loses: 0, evicts: false, in_order: false },
    World { loses: 0, evicts: true, in_order: false },
    World { loses: 10, evicts: true, in_order: false },
];

#[test]
fn no_client_reads_what_was_there_before_a_change_that_it_knows_of() {
    for world in WORLDS {
        assert_eq!(wrong::<Ours>(world, 60_000), 0, "{world:?}");
    }
}

#[test]
fn a_cache_that_believes_any_answer_is_found_out() {
    for world in WORLDS {
        let wrong = wrong::<Nica>(world, 10_000);
        assert!(wrong > 200, "{wrong} of 10,000 in {world:?}");
    }
}
