//! Tables where ports decide buckets. Many buckets share a table, and move to and from it bucket by
//! bucket; each of them sees the same as with a table of its own, with forged packets, too.

use cora_core::bucket::{Bucket, End, Mark};
use cora_core::key::{Address, FiveTuple, InBucket, Key as _, protocol};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::{Direction, InsertError, Travelling};
use cora_core::state::{Line, Memory, Visit};
use proptest::prelude::*;

type Shared = RawTable<FiveTuple, u32>;

/// Buckets, with two ports each: so few that keys collide all the time.
const BUCKETS: u8 = 3;
const CASES: u32 = if cfg!(miri) { 4 } else { 400 };

fn table() -> Shared {
    let shape = Shape { capacity: 256, spare: 256, idle: 1 << 40, reply: true };
    let bytes = Shared::bytes(shape) + 12 * 512 + 1024;
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak();
    let mut memory = Memory::new(lines).with_seed(5);
    let mut table = Shared::create(&mut memory, shape).expect("there is memory");
    table.attach(&mut memory, BUCKETS.into()).expect("there is memory");
    table
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    key: FiveTuple,
    reply: FiveTuple,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Find,
    Insert,
    Remove,
}

impl Ask {
    /// The table's answer to the request.
    fn of(self, table: &mut Shared, value: u32) -> Answer {
        match self.what {
            What::Find => Answer::Found(table.find_mut(&self.key).map(|(direction, found)| {
                let before = *found;
                *found += 1;
                (direction, before)
            })),
            What::Insert => Answer::Inserted(table.insert(self.key, Some(self.reply), value)),
            What::Remove => Answer::Removed(table.remove(&self.key)),
        }
    }

    /// Whether both directions are of the packet's bucket.
    fn is_of(self, mark: Mark) -> bool {
        self.key.mark(mark.end).bucket == mark.bucket && self.reply.answers(mark)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Found(Option<(Direction, u32)>),
    Inserted(Result<(), InsertError>),
    Removed(Option<u32>),
}

/// A packet with this mark, or the bucket's move to the other side.
#[derive(Clone, Debug)]
enum Step {
    Packet { mark: Mark, asks: Vec<Ask>, announced: bool, taken_back: bool },
    Move(u8),
}

fn keys() -> impl Strategy<Value = FiveTuple> {
    let port = || 0..2 * u16::from(BUCKETS);
    (0..2_u8, port(), port()).prop_map(|(from, source_port, destination_port)| FiveTuple {
        source: Address::v4([10, 0, 0, from]),
        destination: Address::v4([10, 0, 0, 1 - from]),
        source_port,
        destination_port,
        protocol: protocol::UDP,
    })
}

fn asks() -> impl Strategy<Value = Ask> {
    let what = prop_oneof![4 => Just(What::Find), 4 => Just(What::Insert), 1 => Just(What::Remove)];
    let reply = prop_oneof![1 => Just(None), 2 => keys().prop_map(Some)];
    (keys(), reply, what).prop_map(|(key, reply, what)| Ask {
        key,
        reply: reply.unwrap_or(key.reversed()),
        what,
    })
}

fn marks() -> impl Strategy<Value = Mark> {
    let end = prop_oneof![Just(End::Source), Just(End::Destination)];
    (0..BUCKETS, end).prop_map(|(bucket, end)| Mark { bucket: Bucket::new(bucket), end })
}

fn steps() -> impl Strategy<Value = Step> {
    let asks = prop::collection::vec(asks(), 1..5);
    let packet = (marks(), asks, any::<bool>(), any::<bool>());
    prop_oneof![
        6 => packet.prop_map(|(mark, asks, announced, taken_back)| Step::Packet {
            mark, asks, announced, taken_back,
        }),
        1 => (0..BUCKETS).prop_map(Step::Move),
    ]
}

fn begin(table: &mut Shared, bucket: Bucket, ahead: u8) {
    let flow = bucket.number() as u32;
    table.begin(Visit { now: 1, horizon: 1, undo: true, flow, ahead });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() })]

    #[test]
    fn each_bucket_has_what_a_table_of_its_own_would_give(
        steps in prop::collection::vec(steps(), 1..80),
    ) {
        let mut shared = [table(), table()];
        for table in &mut shared {
            table.enter_marked(Mark::UNMARKED);
        }
        let mut own: Vec<Shared> = (0..BUCKETS).map(|_| table()).collect();
        let mut side = [0; BUCKETS as usize];
        for step in &steps {
            match step {
                Step::Move(bucket) => {
                    let at = &mut side[usize::from(*bucket)];
                    let mut pieces = Vec::new();
                    shared[*at].take_out(u32::from(*bucket), 1, u32::MAX, &mut |piece| {
                        pieces.push(piece.to_vec());
                    });
                    *at = 1 - *at;
                    for piece in pieces {
                        let taken = if *at == 0 {
                            shared[0].take_back(&piece, (*bucket).into())
                        } else {
                            shared[1].import_entry(&piece, (*bucket).into(), 256)
                        };
                        prop_assert_eq!(taken, Ok(1));
                    }
                }
                Step::Packet { mark, asks, announced, taken_back } => {
                    let number = mark.bucket.number();
                    let (here, alone) = (&mut shared[side[number]], &mut own[number]);
                    if *announced {
                        here.prefetch_index(0, Some(&asks[0].key));
                        here.prefetch_entry(0, || Some(asks[0].key));
                    }
                    begin(here, mark.bucket, if *announced { 0 } else { ALONE });
                    here.enter_marked(*mark);
                    begin(alone, mark.bucket, ALONE);
                    for (ask, value) in asks.iter().zip(100..) {
                        let told = ask.of(here, value);
                        // A table of the bucket's own has no other bucket, and refuses no key.
                        let expected = if matches!(ask.what, What::Insert) && !ask.is_of(*mark) {
                            Answer::Inserted(Err(InsertError::ForeignKey))
                        } else {
                            ask.of(alone, value)
                        };
                        prop_assert_eq!(told, expected, "{:?} by {:?}", ask, mark);
                    }
                    for table in [here, alone] {
                        if *taken_back { table.rollback() } else { table.commit() }
                    }
                }
            }
            for (bucket, its) in shared_by_bucket(&shared).into_iter().enumerate() {
                let mut alone = Vec::new();
                own[bucket].each_alive(0, &mut |it| alone.push((it.key, it.value)));
                alone.sort_unstable();
                prop_assert_eq!(its, alone);
            }
        }
    }
}

/// The contents of each bucket, on whichever side, in order.
fn shared_by_bucket(shared: &[Shared; 2]) -> Vec<Vec<(FiveTuple, u32)>> {
    let mut all = vec![Vec::new(); BUCKETS.into()];
    for table in shared {
        table.each_alive(0, &mut |it| {
            let end = if it.of_second { End::Destination } else { End::Source };
            all[it.key.mark(end).bucket.number()].push((it.key, it.value));
        });
    }
    for its in &mut all {
        its.sort_unstable();
    }
    all
}

/// A packet from inside and a forged one from outside have one key: each is of a flow of its own,
/// and the flow of each is found by its bucket.
#[test]
fn one_key_in_two_buckets_is_two_flows() {
    let mut table = table();
    let key = FiveTuple {
        source: Address::v4([10, 0, 0, 1]),
        destination: Address::v4([192, 0, 2, 1]),
        source_port: 2,
        destination_port: 4,
        protocol: protocol::TCP,
    };
    for (end, bucket) in [(End::Source, 1), (End::Destination, 2)] {
        let mark = key.mark(end);
        assert_eq!(mark.bucket, Bucket::new(bucket));
        begin(&mut table, mark.bucket, ALONE);
        table.enter_marked(mark);
        assert_eq!(table.find_mut(&key), None);
        table.insert(key, Some(key.reversed()), bucket.into()).expect("it is of this bucket");
        table.commit();
    }
    for bucket in [1, 2] {
        let flow = InBucket { bucket: Bucket::new(bucket), flow: key.reversed() };
        assert_eq!(table.flow_of(flow.in_table(), 1, ALONE), Some(bucket.into()));
        let mut words = Vec::new();
        table.each_key(bucket.into(), &mut |key| words.push(*key));
        assert_eq!(words, [flow.reply().expect("it has one").words(), flow.words()]);
    }
    let elsewhere = InBucket { bucket: Bucket::new(3), flow: key };
    assert_eq!(table.flow_of(elsewhere.in_table(), 1, ALONE), None);
}
