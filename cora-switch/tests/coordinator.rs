//! The coordinator by itself: its records in order, faults of shards, and its report.

use std::collections::VecDeque;

use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::{
    Abilities, Answer, Coordinator, Counts, Emulated, Epoch, Fault, FlowTable, Lie, Limits,
    NoSuchShard, Operation, Refused, Relay, Rule, Said, Shard, Told,
};

const X: Shard = Shard::new(0);
const Y: Shard = Shard::new(1);
const Z: Shard = Shard::new(2);

fn set(buckets: &[u8]) -> BucketSet {
    buckets.iter().copied().map(Bucket::new).collect()
}

/// A coordinator of three shards, and a table that answers a microsecond later.
struct Setup {
    coordinator: Coordinator,
    table: Emulated,
    now_ns: u64,
}

impl Setup {
    fn new() -> Self {
        let abilities =
            Abilities { entries: 10, operations_per_s: 0, delay_ns: 1_000, in_flight: 100 };
        let coordinator = Coordinator::new(Limits::default(), 3, X).expect("X is there");
        let mut setup = Self { coordinator, table: Emulated::new(abilities, X), now_ns: 0 };
        let owns = [(X, Told::Owns(BucketSet::ALL))];
        let none = [Y, Z].map(|shard| (shard, Told::Owns(BucketSet::EMPTY)));
        assert_eq!(setup.step(), [&owns[..], &none].concat());
        setup
    }

    /// Buckets 1 to 3 are dealt to Y, and 4 to Z, by a table with so much room.
    fn dealt(entries: u32) -> Self {
        let abilities = Abilities { entries, operations_per_s: 0, delay_ns: 1_000, in_flight: 100 };
        let coordinator =
            Coordinator::dealt(Limits::default(), 3, X, |bucket| match bucket.number() {
                1..=3 => Y,
                4 => Z,
                _ => X,
            });
        let coordinator = coordinator.expect("they are there");
        Self { coordinator, table: Emulated::new(abilities, X), now_ns: 0 }
    }

    fn step(&mut self) -> Vec<(Shard, Told)> {
        let mut told = Vec::new();
        self.coordinator.step(self.now_ns, &mut self.table, |to, record| told.push((to, record)));
        told
    }

    fn restarted(&mut self, shard: Shard) -> Vec<(Shard, Told)> {
        let mut told = Vec::new();
        let push = |to, record| told.push((to, record));
        self.coordinator.restarted(shard, self.now_ns, push).expect("it is there");
        told
    }

    fn later(&mut self) -> Vec<(Shard, Told)> {
        self.now_ns += 1_000;
        self.step()
    }

    fn said(&mut self, by: Shard, said: &Said<'_>) -> Result<Relay, Fault> {
        self.coordinator.said(by, said, self.now_ns)
    }

    /// A move of two buckets from X to Y, as far as the marker.
    fn going(&mut self) -> Epoch {
        let (epoch, buckets) = (Epoch::new(1), set(&[1, 2]));
        self.coordinator.want(buckets, Y).expect("Y is there");
        let told = [(X, Told::Leaving { epoch, buckets }), (Y, Told::Coming { epoch, buckets })];
        assert_eq!(self.step(), told);
        assert_eq!(self.later(), [(X, Told::Going { epoch })]);
        epoch
    }

    fn log(&self) -> String {
        self.coordinator.report(self.now_ns).to_string()
    }
}

#[test]
fn a_move_in_full() {
    let mut setup = Setup::new();
    let epoch = setup.going();
    assert_eq!(setup.table.queue_of(Bucket::new(1)), Y);
    let entry = Said::Entry { epoch, entry: &[7; 10] };
    assert_eq!(setup.said(X, &entry), Ok(Relay::To(Y)));
    assert_eq!(setup.coordinator.owner_of(Bucket::new(1)), X);
    assert_eq!(setup.said(X, &Said::Gone { epoch }), Ok(Relay::Done));
    assert_eq!(setup.step(), [(Y, Told::Arrived { epoch })]);
    assert_eq!(setup.coordinator.owner_of(Bucket::new(1)), Y);
    assert!(setup.coordinator.is_quiet(), "the default rule isn't removed");
    // To where it is: nothing. And back, with rules to remove.
    setup.coordinator.want(set(&[1]), Y).unwrap();
    assert_eq!((setup.step(), setup.coordinator.is_quiet()), (vec![], true));
    setup.coordinator.want(set(&[1]), X).unwrap();
    let (epoch, buckets) = (Epoch::new(2), set(&[1]));
    let told = [(Y, Told::Leaving { epoch, buckets }), (X, Told::Coming { epoch, buckets })];
    assert_eq!((setup.step(), setup.later()), (told.to_vec(), vec![(Y, Told::Going { epoch })]));
    assert_eq!(setup.said(Y, &Said::Gone { epoch }), Ok(Relay::Done));
    assert_eq!(setup.step(), [(X, Told::Arrived { epoch })]);
    assert!(!setup.coordinator.is_quiet(), "the old rule is being removed");
    assert_eq!(setup.later(), []);
    assert!(setup.coordinator.is_quiet());
    assert_eq!(setup.table.entries(), 2, "one rule per bucket stays");
}

/// A table that loses what it is asked for.
struct Deaf;

impl FlowTable for Deaf {
    fn ask(&mut self, _: Operation, _: u64) -> Result<(), Refused> {
        Ok(())
    }

    fn poll(&mut self, _: u64, _: &mut dyn FnMut(Answer)) {}

    fn counts(&self, _: &Rule) -> Option<Counts> {
        None
    }

    fn default_counts(&self) -> Counts {
        Counts::default()
    }
}

/// Who is told what once rules lead to Y for these buckets, and to Z for those.
fn owners(of_y: &[u8], of_z: &[u8]) -> Vec<(Shard, Told)> {
    let (of_y, of_z) = (set(of_y), set(of_z));
    let of_x = BucketSet::ALL.without(of_y).without(of_z);
    vec![(X, Told::Owns(of_x)), (Y, Told::Owns(of_y)), (Z, Told::Owns(of_z))]
}

#[test]
fn a_deal_is_in_force_before_the_first_packet() {
    let mut setup = Setup::dealt(10);
    setup.coordinator.want(set(&[3]), Z).unwrap();
    assert_eq!(setup.step(), [], "no shard has any bucket yet");
    // Not even one that died meanwhile.
    setup.coordinator.died(Z, 0).unwrap();
    assert_eq!(setup.restarted(Z), []);
    assert!(setup.coordinator.must_wait(0) && !setup.coordinator.is_quiet());
    let told = setup.later();
    let buckets = set(&[3]);
    assert_eq!(told[..3], owners(&[1, 2, 3], &[4]));
    let epoch = Epoch::new(2);
    let moves = [(Y, Told::Leaving { epoch, buckets }), (Z, Told::Coming { epoch, buckets })];
    assert_eq!(told[3..], moves, "wishes come behind it");
    assert!(!setup.coordinator.must_wait(0));
    let queues = [1, 2, 4, 5].map(|number| setup.table.queue_of(Bucket::new(number)));
    assert_eq!(queues, [Y, Y, Z, X]);
    assert_eq!(setup.coordinator.report(0).totals.moves, 0);
}

#[test]
fn without_room_for_its_rule_a_bucket_is_dealt_to_the_default_shard() {
    let mut setup = Setup::dealt(3);
    assert_eq!(setup.step(), []);
    assert_eq!(setup.later(), owners(&[1, 2, 3], &[]));
    assert_eq!(setup.table.queue_of(Bucket::new(4)), X);
    assert_eq!(setup.coordinator.report(0).totals.stayed, 1);
    assert!(setup.coordinator.is_quiet());
}

#[test]
fn rules_of_a_deal_that_get_lost_are_asked_for_again() {
    let mut setup = Setup::dealt(10);
    setup.coordinator.step(0, &mut Deaf, |_, told| panic!("{told:?}"));
    setup.now_ns = Limits::default().again_ns;
    assert_eq!((setup.step(), setup.later()), (vec![], owners(&[1, 2, 3], &[4])));
    assert_eq!(setup.coordinator.report(0).totals.again, 4);
}

#[test]
fn a_deal_to_a_shard_that_is_not_there_is_refused() {
    let dealt = Coordinator::dealt(Limits::default(), 2, X, |_| Z);
    assert_eq!(dealt.err(), Some(NoSuchShard { shard: Z, last: 1 }));
}

#[test]
fn a_later_wish_replaces_an_earlier_one() {
    let mut setup = Setup::new();
    let epoch = setup.going();
    setup.coordinator.want(set(&[1, 2, 3]), Z).unwrap();
    setup.coordinator.want(set(&[2, 3]), X).unwrap();
    setup.said(X, &Said::Gone { epoch }).unwrap();
    let (epoch, buckets) = (Epoch::new(2), set(&[1]));
    let told = [(Y, Told::Leaving { epoch, buckets }), (Z, Told::Coming { epoch, buckets })];
    assert_eq!(setup.step()[1..], told);
    assert_eq!(setup.coordinator.report(0).waiting, 1, "bucket 3 is at X already");
}

#[test]
fn wishes_for_shards_that_are_down_wait() {
    let mut setup = Setup::new();
    setup.coordinator.died(Y, 0).unwrap();
    setup.coordinator.want(set(&[1]), Y).unwrap();
    setup.coordinator.want(set(&[2]), Z).unwrap();
    let buckets = set(&[2]);
    let coming = (Z, Told::Coming { epoch: Epoch::new(1), buckets });
    assert!(setup.step().contains(&coming));
    setup.later();
    setup.said(X, &Said::Gone { epoch: Epoch::new(1) }).unwrap();
    assert_eq!(setup.step(), [(Z, Told::Arrived { epoch: Epoch::new(1) })]);
    assert_eq!(setup.restarted(Y), [(Y, Told::Owns(BucketSet::EMPTY))]);
    assert_eq!(setup.step()[1], (Y, Told::Coming { epoch: Epoch::new(2), buckets: set(&[1]) }));
}

#[test]
fn the_buckets_of_a_shard_that_stays_down_begin_afresh_elsewhere() {
    let mut setup = Setup::new();
    setup.coordinator.died(X, 0).unwrap();
    setup.coordinator.want(set(&[1]), Y).unwrap();
    let (epoch, buckets) = (Epoch::new(1), set(&[1]));
    assert_eq!(setup.step(), [(Y, Told::Coming { epoch, buckets })]);
    assert_eq!(setup.later(), [(Y, Told::Void { epoch }), (Y, Told::Arrived { epoch })]);
    assert_eq!(setup.coordinator.report(0).totals.voids, 1);
}

/// A table that refuses all insertions, later, and takes so many operations at once.
struct Slow {
    asked: VecDeque<(u64, Operation)>,
    most: usize,
}

impl FlowTable for Slow {
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused> {
        if self.asked.len() >= self.most {
            return Err(Refused::Busy);
        }
        self.asked.push_back((now_ns + 3_500, operation));
        Ok(())
    }

    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer)) {
        while let Some((_, operation)) = self.asked.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
            answered(Answer { operation, outcome: Err(Refused::NoRoom) });
        }
    }

    fn counts(&self, _: &Rule) -> Option<Counts> {
        None
    }

    fn default_counts(&self) -> Counts {
        Counts::default()
    }
}

/// Answers come later than operations are asked for again. While the table is too busy to be asked
/// again, the answer to the first operation has to count.
#[test]
fn buckets_stay_if_a_slow_table_has_no_room() {
    for most in [1, 2, 100] {
        let mut table = Slow { asked: VecDeque::new(), most };
        let limits = Limits { again_ns: 1_000, ..Limits::default() };
        let mut coordinator = Coordinator::new(limits, 2, X).unwrap();
        coordinator.want(set(&[1, 2]), Y).unwrap();
        let mut told = Vec::new();
        for step in 0..100 {
            coordinator.step(step * 550, &mut table, |to, record| told.push((to, record)));
        }
        let stays = Told::Stays { epoch: Epoch::new(1), buckets: set(&[1, 2]) };
        assert_eq!(told[told.len() - 2..], [(X, stays), (Y, stays)], "{most} at once");
        assert!(coordinator.is_quiet() && coordinator.report(0).totals.again > 0);
    }
}

#[test]
fn a_new_owner_that_dies_costs_the_old_one_nothing_before_the_marker() {
    let mut setup = Setup::new();
    let (epoch, buckets) = (Epoch::new(1), set(&[1, 2]));
    setup.coordinator.want(buckets, Y).unwrap();
    setup.step();
    setup.coordinator.died(Y, 0).unwrap();
    assert_eq!(setup.later(), [], "X goes on, although all rules are in force");
    assert!(setup.log().contains("waits for shard 1 to run"), "{}", setup.log());
    let told = [(Y, Told::Owns(BucketSet::EMPTY)), (Y, Told::Coming { epoch, buckets })];
    assert_eq!(setup.restarted(Y), told);
    assert_eq!(setup.step(), [(X, Told::Going { epoch })]);
    let entry = Said::Entry { epoch, entry: &[7] };
    assert_eq!(setup.said(X, &entry), Ok(Relay::To(Y)));
}

#[test]
fn entries_that_died_with_the_new_owner_are_not_completed() {
    let mut setup = Setup::new();
    let epoch = setup.going();
    let entry = Said::Entry { epoch, entry: &[7] };
    assert_eq!(setup.said(X, &entry), Ok(Relay::To(Y)));
    // It starts again without a word of its death.
    let told = [
        (Y, Told::Owns(BucketSet::EMPTY)),
        (Y, Told::Coming { epoch, buckets: set(&[1, 2]) }),
        (Y, Told::Void { epoch }),
    ];
    assert_eq!(setup.restarted(Y), told);
    assert_eq!(setup.said(X, &entry), Ok(Relay::Lost));
    assert_eq!(setup.said(X, &Said::Gone { epoch }), Ok(Relay::Done));
    assert_eq!(setup.step(), [(Y, Told::Arrived { epoch })]);
    assert_eq!(setup.coordinator.report(0).totals.voids, 1);
    // After its end, the move is Y's history.
    assert_eq!(setup.restarted(Y), [(Y, Told::Owns(set(&[1, 2])))]);
}

#[test]
fn an_old_owner_that_dies_before_the_marker_begins_afresh() {
    let mut setup = Setup::new();
    let (epoch, buckets) = (Epoch::new(1), set(&[1, 2]));
    setup.coordinator.want(buckets, Y).unwrap();
    setup.step();
    let told = [(X, Told::Owns(BucketSet::ALL)), (X, Told::Leaving { epoch, buckets })];
    assert_eq!(setup.restarted(X), told);
    assert_eq!(setup.later(), [(X, Told::Going { epoch })]);
}

/// Frames that a shard left unread come between its first records and the marker, even if all rules
/// are in force by then. Those of buckets that are no longer its own are lost with it.
#[test]
fn a_shard_that_runs_again_takes_unread_frames_of_its_own_buckets() {
    let bucket = Bucket::new(1);
    let takes = |setup: &Setup| [X, Y, Z].map(|shard| setup.coordinator.takes(bucket, shard));
    let mut setup = Setup::new();
    let (epoch, buckets) = (Epoch::new(1), set(&[1, 2]));
    assert_eq!(takes(&setup), [true, false, false]);
    setup.coordinator.want(buckets, Y).unwrap();
    setup.step();
    assert_eq!(takes(&setup), [true, true, false], "Y holds them");
    setup.now_ns += 1_000;
    let told = [(X, Told::Owns(BucketSet::ALL)), (X, Told::Leaving { epoch, buckets })];
    assert_eq!(setup.restarted(X), told);
    assert_eq!(takes(&setup), [true, true, false]);
    assert_eq!(setup.step(), [(X, Told::Going { epoch })]);
    assert_eq!(takes(&setup), [false, true, false]);
    let others = BucketSet::ALL.without(buckets);
    let told = [(Y, Told::Void { epoch }), (Y, Told::Arrived { epoch }), (X, Told::Owns(others))];
    assert_eq!(setup.restarted(X), told, "it has nothing to give any more");
    assert_eq!(takes(&setup), [false, true, false]);
    setup.coordinator.passed(bucket, X, 60, 0);
    let stray = Said::Stray { bucket, bytes: 60 };
    assert_eq!(setup.said(X, &stray), Ok(Relay::To(Y)), "it would come behind later ones");
}

#[test]
fn packets_wait_at_either_limit() {
    let mut setup = Setup::new();
    setup.coordinator.passed(Bucket::new(1), X, 1_500, 1_000);
    setup.going();
    let limits = Limits::default();
    assert!(!setup.coordinator.must_wait(1_000 + limits.packet_ns));
    assert!(setup.coordinator.must_wait(1_001 + limits.packet_ns));
    setup.coordinator.passed(Bucket::new(3), X, limits.held_bytes as usize, 1_000);
    setup.coordinator.passed(Bucket::new(1), Y, limits.held_bytes as usize - 1, 1_000);
    assert!(!setup.coordinator.must_wait(1_000));
    setup.coordinator.passed(Bucket::new(2), Y, 1, 1_000);
    assert!(setup.coordinator.must_wait(1_000));
    setup.said(X, &Said::Gone { epoch: Epoch::new(1) }).unwrap();
    assert!(!setup.coordinator.must_wait(u64::MAX));
}

#[test]
fn lies_are_named_and_change_nothing() {
    let mut setup = Setup::new();
    let entry = |epoch| Said::Entry { epoch: Epoch::new(epoch), entry: &[7] };
    let gone = |epoch| Said::Gone { epoch: Epoch::new(epoch) };
    let fault = |shard, lie| Err(Fault { shard, lie });
    let lie = Lie::Entry(Epoch::new(1));
    assert_eq!(setup.said(X, &entry(1)), fault(X, lie), "no move");
    let epoch = setup.going();
    let before = format!("{:?}", setup.coordinator);
    assert_eq!(setup.said(Y, &entry(1)), fault(Y, lie), "another shard");
    assert_eq!(setup.said(X, &entry(2)), fault(X, Lie::Entry(Epoch::new(2))), "another move");
    assert_eq!(setup.said(Z, &gone(1)), fault(Z, Lie::Gone(epoch)));
    assert_eq!(setup.said(X, &gone(0)), fault(X, Lie::Gone(Epoch::new(0))));
    let nobody = Shard::new(9);
    assert_eq!(setup.said(nobody, &gone(1)), fault(nobody, Lie::Down));
    let no_such = Err(NoSuchShard { shard: nobody, last: 2 });
    assert_eq!(setup.coordinator.died(nobody, 0), no_such);
    assert_eq!(setup.coordinator.restarted(nobody, 0, |_, _| {}), no_such);
    assert_eq!(setup.coordinator.want(set(&[1]), nobody), no_such);
    let stray = Said::Stray { bucket: Bucket::new(1), bytes: 60 };
    assert_eq!(setup.said(Y, &stray), fault(Y, Lie::Stray), "a frame that nobody sent it");
    assert_eq!(format!("{:?}", setup.coordinator), before);
    setup.coordinator.passed(Bucket::new(1), Y, 60, 0);
    assert_eq!(setup.said(Y, &stray), fault(Y, Lie::Stray), "it has to hold that one");
    setup.coordinator.died(Z, 0).unwrap();
    assert_eq!(setup.said(Z, &stray), fault(Z, Lie::Down));
    assert_eq!(setup.said(X, &gone(1)), Ok(Relay::Done), "and the move goes on");
    let error = Fault { shard: X, lie: Lie::Gone(Epoch::new(7)) }.to_string();
    assert_eq!(
        error,
        "shard 0 ends move 7: only the shard that buckets leave may, after its marker"
    );
    assert_eq!(
        NoSuchShard { shard: nobody, last: 2 }.to_string(),
        "there is no shard 9: shards are numbered from 0 to 2"
    );
    assert!(Coordinator::new(Limits::default(), 0, X).is_err(), "nobody owns anything");
}

#[test]
fn floods_end() {
    let mut setup = Setup::new();
    let most = Limits::default().entry_bytes;
    let epoch = setup.going();
    let large = vec![0; 1 << 20];
    let entry = Said::Entry { epoch, entry: &large };
    let sent = (0..=most).take_while(|_| setup.said(X, &entry).is_ok()).count();
    assert_eq!(sent as u64, most >> 20);
    assert_eq!(setup.said(X, &entry), Err(Fault { shard: X, lie: Lie::Entries(most) }));
    // A frame at a wrong shard may be returned once.
    setup.coordinator.passed(Bucket::new(1), Z, 60, 0);
    let stray = Said::Stray { bucket: Bucket::new(1), bytes: 60 };
    assert_eq!(setup.said(Z, &stray), Ok(Relay::To(Y)));
    assert_eq!(setup.said(Z, &stray), Err(Fault { shard: Z, lie: Lie::Stray }));
    assert_eq!(setup.said(Y, &stray), Err(Fault { shard: Y, lie: Lie::Stray }), "Y holds it");
}

#[test]
fn the_report_is_a_line() {
    let mut setup = Setup::new();
    let idle =
        "0 moves done, in the mean in 0 ns; 0 rule operations, 0 of them asked again; 0 strays";
    assert_eq!(setup.log(), idle);
    let epoch = setup.going();
    setup.coordinator.want(set(&[1]), Z).unwrap();
    setup.coordinator.passed(Bucket::new(1), Y, 60, 0);
    assert_eq!(
        setup.log(),
        "0 moves done, in the mean in 0 ns; 2 rule operations, 0 of them asked again; 0 strays; \
         move 1 of 2 buckets from shard 0 to shard 1 for 1000 ns, waits for the entries of shard 0, \
         holds 60 bytes; 1 buckets wait for a move"
    );
    setup.said(X, &Said::Gone { epoch }).unwrap();
    setup.now_ns = 30_000_000;
    setup.step();
    assert_eq!(
        setup.log(),
        "1 moves done, in the mean in 30 ms; 3 rule operations, 0 of them asked again; 0 strays; \
         move 2 of 1 buckets from shard 1 to shard 2 for 0 ns, waits for 1 rules to be inserted, \
         holds 0 bytes"
    );
}
