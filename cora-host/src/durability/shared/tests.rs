//! Replicas after a kill at any store.

use proptest::prelude::*;

use super::store::{memory, noted};
use super::*;

const POOL: u16 = 1;
const SHAPE: Shape<'_> = Shape { entry: 24, group: 8, singletons: &[(POOL, 700)] };

fn words(copies: usize) -> &'static [AtomicU64] {
    // Without the spare slots, so that the memory is soon full.
    let slots = copies + 1;
    memory(bytes(0, SHAPE) / 8 - SPARE * slot_words(24, 8) + slots * slot_words(24, 8))
}

fn copy<'a>(group: &'a [u8], piece: &'a [u8], holder: Holder) -> Replica<'a> {
    Replica { state: 3, holder, group, key: &piece[..4], piece }
}

/// All replicas of entries, with their groups, and that of the pool.
type All = (Vec<(Vec<u8>, Vec<u8>)>, Option<Vec<u8>>);

fn all(replicas: &SharedReplicas) -> All {
    let mut found = Vec::new();
    for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
        replicas.each(holder, None, &mut |copy| {
            found.push((copy.group.to_vec(), copy.piece.to_vec()));
        });
    }
    found.sort();
    let mut pool = Vec::new();
    let is_there = replicas.parts(POOL, &mut |_, part| pool.extend(part));
    (found, is_there.then_some(pool))
}

#[test]
fn copies_outlive_who_keeps_them() {
    let words = words(3);
    let mut replicas = SharedReplicas::open(words, SHAPE);
    assert!(replicas.keep(&copy(b"one", b"key1 a", Holder::Host)));
    assert!(replicas.keep(&copy(b"one", b"key2 b", Holder::Nic)));
    assert!(replicas.keep(&copy(b"two", b"key3 c", Holder::Nic)));
    assert!(replicas.keep(&copy(b"one", b"key1 longer", Holder::Host)), "there is one slot more");
    let long = copy(b"two", b"key4 and far too long an entry to fit", Holder::Nic);
    assert!(!replicas.keep(&long));
    replicas.assign(Holder::Nic, Holder::Unsure, Some(b"two"));
    let next = SharedReplicas::open(words, SHAPE);
    assert_eq!(all(&next), all(&replicas));
    let mut unsure = Vec::new();
    next.each(Holder::Unsure, None, &mut |copy| unsure.push(copy.piece.to_vec()));
    assert_eq!((unsure, next.damaged), (vec![b"key3 c".to_vec()], 0));
    replicas.forget(Holder::Host, 3, b"key2");
    assert!(replicas.find(3, b"key2", &mut |_| {}), "another one holds it");
    replicas.forget_all(Holder::Unsure, None);
    assert_eq!(all(&SharedReplicas::open(words, SHAPE)).0.len(), 2);
}

#[test]
fn what_is_damaged_is_no_copy() {
    let words = words(3);
    let mut replicas = SharedReplicas::open(words, SHAPE);
    replicas.keep(&copy(b"one", b"key1 a", Holder::Host));
    replicas.keep(&copy(b"one", b"key2 b", Holder::Host));
    let body = replicas.before + HEAD;
    words[body].fetch_xor(1 << 20, Ordering::Relaxed);
    let next = SharedReplicas::open(words, SHAPE);
    assert_eq!((next.damaged, all(&next).0), (1, vec![(b"one".to_vec(), b"key2 b".to_vec())]));
}

/// Without that number, which replicas are complete is unknown.
#[test]
fn so_is_everything_under_a_damaged_number() {
    for bit in [0, 15, 16, 40, 63] {
        let words = words(3);
        let mut replicas = SharedReplicas::open(words, SHAPE);
        replicas.keep_part(POOL, 0, &[1; 700]);
        replicas.keep(&copy(b"one", b"key1 a", Holder::Host));
        words[1].fetch_xor(1 << bit, Ordering::Relaxed);
        assert_eq!(damaged(words, SHAPE), [POOL]);
        let next = SharedReplicas::open(words, SHAPE);
        assert_eq!((next.damaged, all(&next)), (1, (vec![], None)), "bit {bit}");
    }
}

/// In builds without commits, each replica is valid by itself.
#[test]
fn copies_of_an_older_build_are_read() {
    let shape = Shape { singletons: &[], ..SHAPE };
    let words = memory(bytes(3, shape) / 8);
    let mut replicas = SharedReplicas::open(words, shape);
    replicas.keep(&copy(b"one", b"key1 a", Holder::Host));
    words[1].store(0, Ordering::Relaxed);
    assert_eq!(all(&SharedReplicas::open_uncommitted(words, shape)), all(&replicas));
}

/// A step of a run: entries that are kept or forgotten, and blocks of the pool.
#[derive(Clone, Debug)]
struct Step {
    entries: Vec<(u8, u8, bool)>,
    pool: Vec<(u8, u8)>,
}

fn step() -> impl Strategy<Value = Step> {
    let entries = prop::collection::vec((0_u8..6, 0_u8..9, any::<bool>()), 0..4);
    let pool = prop::collection::vec((0_u8..3, any::<u8>()), 0..3);
    (entries, pool).prop_map(|(entries, pool)| Step { entries, pool })
}

fn take(step: &Step, replicas: &mut SharedReplicas) {
    let together = !step.pool.is_empty();
    if together {
        replicas.begin();
    }
    for (block, value) in &step.pool {
        let at = 256 * usize::from(*block);
        replicas.keep_part(POOL, at, &vec![*value; 256.min(700 - at)]);
    }
    for (key, value, keeps) in &step.entries {
        let piece = [b'k', b'e', b'y', *key, *value, *value, *value, *value, *value];
        if *keeps {
            assert!(replicas.keep(&copy(b"group", &piece, Holder::Host)), "there is room");
        } else {
            replicas.forget(Holder::Host, 3, &piece[..4]);
        }
    }
    if together {
        replicas.commit();
    }
}

proptest! {
    /// Killed after any store, the memory has everything as before or as after a step that changes
    /// the pool. For other steps, it has each replica as before or as after a change. The next
    /// process continues from there.
    #[test]
    fn a_kill_leaves_what_was_before_or_what_is_behind(
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let words = words(16);
        let mut replicas = SharedReplicas::open(words, SHAPE);
        replicas.begin();
        replicas.keep_part(POOL, 0, &[0; 700]);
        replicas.commit();
        for step in steps {
            let singly = step.entries.iter().map(|entry| Step { entries: vec![*entry], pool: vec![] });
            let parts = if step.pool.is_empty() { singly.collect() } else { vec![step] };
            for part in parts {
                let before = all(&replicas);
                let image: Vec<u64> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                noted(words);
                take(&part, &mut replicas);
                let after = all(&replicas);
                let stores = noted(words);
                for kill in 0..=stores.len() {
                    let torn: Vec<AtomicU64> =
                        image.iter().map(|word| AtomicU64::new(*word)).collect();
                    for (at, value) in &stores[..kill] {
                        torn[*at].store(*value, Ordering::Relaxed);
                    }
                    let torn: &'static [AtomicU64] = torn.leak();
                    let mut next = SharedReplicas::open(torn, SHAPE);
                    let found = all(&next);
                    prop_assert!(found == before || found == after, "killed after {kill}");
                    prop_assert_eq!((next.damaged, damaged(torn, SHAPE)), (0, vec![]));
                    take(&part, &mut next);
                    prop_assert!(all(&next) == after, "killed after {kill}, and done again");
                    prop_assert!(all(&SharedReplicas::open(torn, SHAPE)) == after);
                    noted(words);
                }
            }
        }
    }
}
