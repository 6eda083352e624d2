//! The handlers.

use cora_core::key::{Key as _, One};
use cora_core::outbox::Outbox;
use cora_core::state::{Home as _, Id, Objects, Reach};
use cora_core::verdict::{Done, Stop, Verdict};

use super::messages::{All, Answer, Later, Loose, Sum, WORDS, Word, mixed};
use super::{
    Actors, HEARERS, Hearer, LATERS, MOST_PEERS, MOST_SUMS, Node, PEERS, SUMS, Sender, Tally,
    delay, request,
};
use crate::apps::Variant;
use crate::history;

/// The task of a message: whether order counts, how many more are sent in a row, and how many
/// by each.
#[derive(Clone, Copy, Debug)]
struct Task {
    ordered: bool,
    depth: u64,
    fan: u64,
}

impl Task {
    const fn of(word: u64) -> Self {
        Self { ordered: word & 1 != 0, depth: word >> 8 & 0xff, fan: word >> 16 & 0xff }
    }

    const fn word(self) -> u64 {
        self.ordered as u64 | self.depth << 8 | self.fan << 16
    }

    /// The task of those that are sent because of this one.
    const fn next(self) -> Self {
        Self { depth: self.depth - 1, ..self }
    }
}

/// Hears and is counted, whatever the order.
const COUNTED: Task = Task { ordered: false, depth: 0, fan: 0 };
/// The order counts.
const ORDERED: Task = Task { ordered: true, ..COUNTED };

/// One in so many messages needs the host.
const PUNTS_IN: u64 = 9;
/// One in so many ends its flow's entry.
const ENDS_IN: u64 = 23;
/// Most objects of a flow.
const MOST_NODES: u64 = 5;
/// Work of a light message and of a heavy one (ns).
const LIGHT: u64 = 300;
const HEAVY: u64 = 20_000;

impl<V: Variant> Actors<V> {
    /// A datagram with a request.
    pub(super) fn go<R: Reach>(
        &mut self,
        [from, id, asks, arg]: [u64; WORDS],
        out: &mut Outbox,
    ) -> Verdict {
        history::work(LIGHT);
        let senders = self.senders.table();
        let sender = senders.get_or_insert(from, Sender { count: 0, hash: 0 })?;
        sender.count += 1;
        sender.hash = mixed(sender.hash, id);
        let answer = Answer { flow: from as u32, number: id as u32, id, hash: sender.hash };
        match asks {
            request::COUNT => out.messages::<Answer>().reply(answer)?,
            request::END => drop(senders.remove(&from)),
            request::PUNT => {
                for asks in [request::FAN, request::SUM, request::LATER, request::LOOSE] {
                    send(asks, [from, id, arg], out)?;
                }
                out.messages::<Answer>().reply(answer)?;
                if R::PLACES.is_some() {
                    return Err(Stop::punt());
                }
            }
            _ => send(asks, [from, id, arg], out)?,
        }
        Done
    }

    /// A word: light.
    pub(super) fn hear<R: Reach>(&mut self, words: [u64; WORDS], out: &mut Outbox) -> Verdict {
        history::work(LIGHT);
        self.heard::<R>(words, out)
    }

    /// A sum: heavy.
    pub(super) fn add<R: Reach>(&mut self, words: [u64; WORDS], out: &mut Outbox) -> Verdict {
        history::work(HEAVY);
        self.heard::<R>(words, out)
    }

    /// A flow hears something. Where the order counts, its state depends on it, and its messages
    /// depend on its state.
    fn heard<R: Reach>(&mut self, [to, id, _, word]: [u64; WORDS], out: &mut Outbox) -> Verdict {
        let task = Task::of(word);
        self.nodes.enter_named(Some(to.words()));
        let hearers = self.hearers.table();
        let hearer = hearers.get_or_insert(to, new_hearer())?;
        hearer.count += 1;
        hearer.sum = hearer.sum.wrapping_add(id);
        if task.ordered {
            hearer.hash = mixed(hearer.hash, id);
            keep(hearer, &mut self.nodes, id)?;
            let (flow, number) = (to as u32, hearer.count as u32);
            out.messages::<Answer>().reply(Answer { flow, number, id, hash: hearer.hash })?;
        }
        let hash = hearer.hash;
        if task.depth > 0 {
            for place in 0..task.fan {
                let receiver = PEERS + mixed(hash, place) % MOST_PEERS;
                let words = [receiver, mixed(id, place), to, task.next().word()];
                if place % 3 == 2 {
                    out.messages::<Sum>().send(Sum(words))?;
                } else {
                    out.messages::<Word>().send(Word(words))?;
                }
            }
        } else if task.ordered && to < PEERS {
            let sums = SUMS + id % MOST_SUMS;
            out.messages::<Sum>().send(Sum([sums, mixed(id, 0), to, COUNTED.word()]))?;
        }
        if R::PLACES.is_some() && id % PUNTS_IN == 4 {
            return Err(Stop::punt());
        }
        if task.ordered && id % ENDS_IN == 5 {
            hearers.remove(&to);
        }
        Done
    }

    /// All of them: the only one's.
    pub(super) fn tally(&mut self, [_, id, _, _]: [u64; WORDS], out: &mut Outbox) -> Verdict {
        history::work(LIGHT);
        let tally = self.tallies.table().get_or_insert(One, Tally { count: 0, sum: 0 })?;
        tally.count += 1;
        tally.sum = tally.sum.wrapping_add(id);
        if id % 4 == 1 {
            let sums = SUMS + id % MOST_SUMS;
            out.messages::<Sum>().send(Sum([sums, mixed(id, 0), u64::MAX, COUNTED.word()]))?;
        }
        Done
    }

    /// Its time has come. While the row is not over, the next one is sent.
    pub(super) fn later(
        &mut self,
        [to, id, from, word]: [u64; WORDS],
        out: &mut Outbox,
    ) -> Verdict {
        history::work(LIGHT);
        let task = Task::of(word);
        let hearer = self.hearers.table().get_or_insert(to, new_hearer())?;
        hearer.count += 1;
        hearer.sum = hearer.sum.wrapping_add(id);
        if task.ordered {
            hearer.hash = mixed(hearer.hash, id);
        }
        if task.depth > 0 {
            let next = Later([to, mixed(id, 1), from, task.next().word()]);
            out.messages::<Later>().after(delay(id), next)?;
            out.messages::<All>().send(All([0, mixed(id, 0), to, 0]))?;
        }
        Done
    }
}

const fn new_hearer() -> Hearer {
    Hearer { count: 0, sum: 0, hash: 0, newest: Id::NONE, nodes: 0 }
}

/// Keeps an object of the length that the id says; the oldest ones go.
fn keep(hearer: &mut Hearer, nodes: &mut Objects<Node>, id: u64) -> Result<(), Stop> {
    if hearer.nodes >= MOST_NODES {
        let mut next = hearer.newest;
        while let Some(Node { older, .. }) = nodes.remove(next) {
            next = older;
        }
        (hearer.newest, hearer.nodes) = (Id::NONE, 0);
    }
    let (filled, length) = (id as u8, (id >> 8) as usize % 300);
    let newest = nodes.insert(Node { older: hearer.newest, filled }, length)?;
    if let Some(node) = nodes.get_mut(newest) {
        node.bytes.fill(filled);
    }
    (hearer.newest, hearer.nodes) = (newest, hearer.nodes + 1);
    // The contents of the objects are part of the flow's answers.
    let mut next = hearer.newest;
    while let Some(node) = nodes.get(next) {
        let bytes = node.bytes.iter().fold(u64::from(node.head.filled), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
        });
        hearer.hash = mixed(hearer.hash, bytes);
        next = node.head.older;
    }
    Ok(())
}

/// Sends the messages of a request.
fn send(asks: u64, [from, id, arg]: [u64; 3], out: &mut Outbox) -> Result<(), Stop> {
    let id_of = |place: u64| mixed(mixed(id, asks), place);
    let (mut words, mut sums) = (out.messages::<Word>(), out.messages::<Sum>());
    let peer = |place: u64| PEERS + (arg + place) % MOST_PEERS;
    match asks {
        request::FAN => {
            for place in 0..=arg % 4 {
                let to = HEARERS + 2 * from + place % 2;
                words.send(Word([to, id_of(place), from, ORDERED.word()]))?;
            }
        }
        request::SUM => {
            for place in 0..MOST_SUMS {
                sums.send(Sum([SUMS + place, id_of(place), from, COUNTED.word()]))?;
            }
        }
        request::ALL => out.messages::<All>().send(All([0, id_of(0), from, 0]))?,
        request::LOOSE => out.messages::<Loose>().send(Loose([id, id_of(0), from, 0]))?,
        request::LATER => {
            let task = Task { depth: arg % 3, ..COUNTED };
            let later = Later([LATERS + from, id_of(0), from, task.word()]);
            out.messages::<Later>().after(delay(arg), later)?;
        }
        request::PEER => {
            for place in 0..=arg % 3 {
                let task = Task { depth: arg % 4, fan: 1 + arg % 2, ..ORDERED };
                words.send(Word([peer(place), id_of(place), from, task.word()]))?;
            }
        }
        request::MANY => {
            for place in 0..30 {
                let task = Task { depth: u64::from(place % 8 == 0), fan: 1, ..ORDERED };
                words.send(Word([peer(0), id_of(place), from, task.word()]))?;
            }
        }
        request::MIXED => {
            for place in 0..2 + arg % 3 {
                let words_of = [peer(0), id_of(place), from, ORDERED.word()];
                words.send(Word(words_of))?;
                let words_of = [peer(0), id_of(100 + place), from, ORDERED.word()];
                sums.send(Sum(words_of))?;
            }
        }
        _ => {
            let task = Task { depth: arg % 3, ..ORDERED };
            for place in 0..2 {
                let later = Later([peer(0), id_of(place), from, task.word()]);
                out.messages::<Later>().after(delay(arg + place), later)?;
            }
        }
    }
    Ok(())
}

/// A message without a key answers the asker, and counts in the tally.
pub(super) fn let_loose([number, id, from, _]: [u64; WORDS], out: &Outbox) -> Verdict {
    history::work(LIGHT);
    let flow = 0x4000_0000 | number as u32;
    out.messages::<Answer>().reply(Answer { flow, number: 0, id, hash: from })?;
    out.messages::<All>().send(All([0, mixed(id, 0), from, 0]))?;
    Done
}
