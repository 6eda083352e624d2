//! Tables with flows grouped by an address. Many groups share a table, and move to and from it
//! group by group; each of them sees the same as with a table of its own.

use cora_core::key::{Address, FiveTuple, Key, protocol};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::{Direction, InsertError, Travelling};
use cora_core::state::{Line, Memory, NO_FLOW, Visit};
use proptest::prelude::*;

type Shared = RawTable<FiveTuple, u32>;

/// Number of addresses: so few that groups' keys collide all the time.
const ENDS: u8 = 4;
const CASES: u32 = if cfg!(miri) { 4 } else { 400 };

fn table() -> Shared {
    let shape = Shape { capacity: 256, spare: 256, idle: 1 << 40, reply: true };
    let bytes = Shared::bytes(shape) + 12 * 512 + 1024;
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak();
    let mut memory = Memory::new(lines).with_seed(5);
    let mut table = Shared::create(&mut memory, shape).expect("there is memory");
    table.attach(&mut memory, ENDS.into()).expect("there is memory");
    table
}

fn end(number: u8) -> Address {
    Address::v4([10, 0, 0, number % ENDS])
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    source: u8,
    destination: u8,
    port: u16,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Find,
    Insert,
    InsertReversed,
    Remove,
}

impl Ask {
    fn key(self) -> FiveTuple {
        FiveTuple {
            source: end(self.source),
            destination: end(self.destination),
            source_port: self.port,
            destination_port: 80,
            protocol: protocol::UDP,
        }
    }

    /// The table's answer to the request.
    fn of(self, table: &mut Shared, value: u32) -> Answer {
        let key = self.key();
        match self.what {
            What::Find => Answer::Found(table.find_mut(&key).map(|(direction, found)| {
                let before = *found;
                *found += 1;
                (direction, before)
            })),
            What::Insert => Answer::Inserted(table.insert(key, key.reply(), value)),
            What::InsertReversed => {
                Answer::Inserted(table.insert(key.reversed(), Some(key), value))
            }
            What::Remove => Answer::Removed(table.remove(&key)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Found(Option<(Direction, u32)>),
    Inserted(Result<(), InsertError>),
    Removed(Option<u32>),
}

/// A packet of this group, or the group's move to the other side.
#[derive(Clone, Debug)]
enum Step {
    Packet { group: u8, asks: Vec<Ask>, announced: bool, taken_back: bool },
    Move { group: u8 },
}

fn asks() -> impl Strategy<Value = Ask> {
    let what = prop_oneof![
        4 => Just(What::Find),
        3 => Just(What::Insert),
        1 => Just(What::InsertReversed),
        1 => Just(What::Remove),
    ];
    (0..ENDS, 0..ENDS, 1..3_u16, what).prop_map(|(source, destination, port, what)| Ask {
        source,
        destination,
        port,
        what,
    })
}

fn steps() -> impl Strategy<Value = Step> {
    let packet = (0..ENDS, prop::collection::vec(asks(), 1..5), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => packet.prop_map(|(group, asks, announced, taken_back)| Step::Packet {
            group, asks, announced, taken_back,
        }),
        1 => (0..ENDS).prop_map(|group| Step::Move { group }),
    ]
}

/// The whole contents: key, group, value.
fn contents(tables: &[Shared]) -> Vec<(FiveTuple, Address, u32)> {
    let mut all = Vec::new();
    for table in tables {
        table.each_alive(0, &mut |it| {
            let group = it.key.group_address(it.of_second).expect("it has addresses");
            all.push((it.key, group, it.value));
        });
    }
    all.sort_unstable();
    all
}

/// Runs a packet's requests, in the same way for both kinds of tables.
fn packet(
    table: &mut Shared,
    group: Option<u8>,
    flow: u8,
    (asks, announced, taken_back): (&[Ask], bool, bool),
) -> Vec<Answer> {
    if announced {
        table.prefetch_index(0, Some(&asks[0].key()));
        table.prefetch_entry(0, || Some(asks[0].key()));
    }
    let ahead = if announced { 0 } else { ALONE };
    table.begin(Visit { now: 1, horizon: 1, undo: true, flow: flow.into(), ahead });
    if let Some(group) = group {
        table.enter(Some(end(group)));
    }
    let answers = asks.iter().zip(100..).map(|(ask, value)| ask.of(table, value)).collect();
    if taken_back {
        table.rollback();
    } else {
        table.commit();
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() })]

    #[test]
    fn each_group_has_what_a_table_of_its_own_would_give(
        steps in prop::collection::vec(steps(), 1..80),
    ) {
        let mut shared = [table(), table()];
        for table in &mut shared {
            table.enter(None);
        }
        let mut own: Vec<Shared> = (0..ENDS).map(|_| table()).collect();
        let mut side = [0; ENDS as usize];
        for step in &steps {
            match step {
                Step::Move { group } => {
                    let at = &mut side[usize::from(*group)];
                    let mut pieces = Vec::new();
                    shared[*at].take_out(u32::from(*group), 1, u32::MAX, &mut |piece| {
                        pieces.push(piece.to_vec());
                    });
                    *at = 1 - *at;
                    for piece in pieces {
                        let taken = if *at == 0 {
                            shared[0].take_back(&piece, (*group).into())
                        } else {
                            shared[1].import_entry(&piece, (*group).into(), 256)
                        };
                        prop_assert_eq!(taken, Ok(1));
                    }
                }
                Step::Packet { group, asks, announced, taken_back } => {
                    let how = (&asks[..], *announced, *taken_back);
                    let here = &mut shared[side[usize::from(*group)]];
                    let told = packet(here, Some(*group), *group, how);
                    // A table of the group's own has no other group, and refuses no key.
                    let is_kin = |ask: &Ask| [ask.source, ask.destination].contains(group);
                    let kin: Vec<Ask> = asks.iter().copied().filter(is_kin).collect();
                    for (ask, answer) in asks.iter().zip(&told).filter(|(ask, _)| !is_kin(ask)) {
                        let expected = match ask.what {
                            What::Find => Answer::Found(None),
                            What::Remove => Answer::Removed(None),
                            _ => Answer::Inserted(Err(InsertError::ForeignKey)),
                        };
                        prop_assert_eq!(*answer, expected);
                    }
                    if kin.len() == asks.len() {
                        let expected = packet(&mut own[usize::from(*group)], None, *group, how);
                        prop_assert_eq!(told, expected);
                    } else if !kin.is_empty() {
                        // Values are numbered by position: those of the other groups differ.
                        let table = &mut own[usize::from(*group)];
                        table.begin(Visit { now: 1, horizon: 1, undo: true, flow: (*group).into(), ahead: ALONE });
                        for (ask, value) in asks.iter().zip(100..).filter(|(ask, _)| is_kin(ask)) {
                            ask.of(table, value);
                        }
                        if *taken_back { table.rollback() } else { table.commit() }
                    }
                }
            }
            let mut expected = Vec::new();
            for (group, table) in (0..ENDS).zip(&own) {
                table.each_alive(0, &mut |it| expected.push((it.key, end(group), it.value)));
            }
            expected.sort_unstable();
            prop_assert_eq!(contents(&shared), expected);
        }
    }
}

/// A packet without a group, such as one that is not IP: it finds nothing, and inserts nothing.
#[test]
fn no_group_finds_nothing() {
    let mut table = table();
    let ask = Ask { source: 0, destination: 1, port: 1, what: What::Insert };
    let begin = |table: &mut Shared| {
        table.begin(Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead: ALONE });
    };
    begin(&mut table);
    table.enter(Some(end(1)));
    assert_eq!(ask.of(&mut table, 7), Answer::Inserted(Ok(())));
    begin(&mut table);
    table.enter(None);
    assert_eq!(table.find_mut(&ask.key()), None);
    assert_eq!(ask.of(&mut table, 8), Answer::Inserted(Err(InsertError::ForeignKey)));
    begin(&mut table);
    table.enter(Some(end(0)));
    assert_eq!(table.find_mut(&ask.key()), None, "it is the other end's");
    begin(&mut table);
    table.enter(Some(end(1)));
    assert_eq!(table.find_mut(&ask.key()), Some((Direction::Original, &mut 7)));
}

/// Two ends insert the same key, and one is announced: each finds its own entry, whichever the
/// index names first.
#[test]
fn what_was_looked_up_ahead_counts_only_if_it_is_the_groups() {
    for first in [0, 1] {
        let mut table = table();
        let ask = Ask { source: 0, destination: 1, port: 1, what: What::Find };
        for group in [first, 1 - first] {
            table.begin(Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead: ALONE });
            table.enter(Some(end(group)));
            table.insert(ask.key(), ask.key().reply(), group.into()).expect("it has none yet");
        }
        for group in [0, 1, 0, 1] {
            let asks = [ask];
            let told = packet(&mut table, Some(group), 0, (&asks, true, true));
            assert_eq!(told, [Answer::Found(Some((Direction::Original, group.into())))]);
        }
    }
}
