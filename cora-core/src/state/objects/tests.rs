//! Objects against a model: random runs of several flows at two sides, with undo, moves in parts,
//! and moves that are refused amid an object.

use std::collections::BTreeMap;
use std::vec::Vec;

use super::super::memory::leak;
use super::super::table::{NEVER, Travelling};
use super::super::{Described, Home, NO_FLOW, Stored, Visit};
use super::*;

/// Few pages and short lives, so that tests reach both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    next: Id<Self>,
    odd: u8,
}

macro_rules! node {
    ($name:ident, $bytes:expr, $flows:expr, $idle:expr) => {
        impl Plain for $name {
            const SIZE: usize = 9;
            fn put(&self, out: &mut [u8]) {
                self.next.put(out);
                self.odd.put(&mut out[8..]);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self { next: Id::get(bytes)?, odd: u8::get(bytes.get(8..)?)? })
            }
            fn describe(&self, to: &mut dyn Describe) {
                to.number(self.odd.into());
            }
        }

        impl ObjectState for $name {
            const NAME: &'static str = "Node";
            const BYTES: usize = $bytes;
            const FLOWS: u32 = $flows;
            const IDLE: u64 = $idle;
        }
    };
}

/// The same, that stays for good.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lasting {
    next: Id<Self>,
    odd: u8,
}

node!(Node, 2 << 20, 6, 1000);
node!(Lasting, 1 << 20, 2, NEVER);

const FLOWS: u32 = 12;

fn side<S: ObjectState>() -> Objects<S> {
    let mut memory = leak(<Objects<S> as Stored>::BYTES + (1 << 12)).with_seed(7);
    let mut objects = Objects::create(&mut memory).unwrap();
    let mut memory = leak(objects.attached_bytes(FLOWS));
    objects.attach(&mut memory, FLOWS).unwrap();
    objects
}

fn words(flow: u32) -> [u64; 5] {
    [u64::from(flow) + 1, 0, 0, 0, 3]
}

fn begin<S: ObjectState>(objects: &mut Objects<S>, flow: u32, now: u64, undo: bool) {
    objects.begin(Visit { now, horizon: now, undo, flow, ahead: 255 });
    objects.enter_named(Some(words(flow)));
}

fn end<S: ObjectState>(objects: &mut Objects<S>, undo: bool, punts: bool) {
    if punts {
        objects.rollback();
    } else {
        objects.commit(undo);
    }
}

/// A cheap generator, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// What a flow should have: heads and bytes by id.
type Model = Vec<(Id<Node>, Node, Vec<u8>)>;

fn node(dice: &mut Dice) -> Node {
    Node { next: Id::NONE, odd: dice.roll(256) as u8 }
}

fn length(dice: &mut Dice) -> usize {
    match dice.roll(8) {
        0 => 0,
        1 => dice.roll(Objects::<Node>::LONGEST + 1),
        2 => dice.roll(5000),
        _ => dice.roll(200),
    }
}

/// One random write; the model follows if it succeeds.
fn write(objects: &mut Objects<Node>, model: &mut Model, dice: &mut Dice) {
    let any = |dice: &mut Dice, model: &Model| (!model.is_empty()).then(|| dice.roll(model.len()));
    // Now and then a side is full, and most times it is not.
    let kind = if model.len() > 150 { 4 } else { dice.roll(10) };
    match kind {
        0..=3 => {
            let (head, length) = (node(dice), length(dice));
            if let Ok(id) = objects.insert(head, length) {
                model.push((id, head, vec![0; length]));
            }
        }
        4 | 5 => {
            let Some(at) = any(dice, model) else { return };
            let removed = objects.remove(model[at].0);
            if !objects.is_void() {
                assert_eq!(removed, Some(model[at].1));
                model.swap_remove(at);
            }
        }
        6 => {
            let (Some(one), Some(two)) = (any(dice, model), any(dice, model)) else { return };
            let most = model[one].2.len().min(model[two].2.len());
            let count = dice.roll(most + 1);
            let from = dice.roll(model[one].2.len() - count + 1);
            let at = dice.roll(model[two].2.len() - count + 1);
            objects.copy(model[one].0, from..from + count, model[two].0, at).unwrap();
            if !objects.is_void() {
                let bytes = model[one].2[from..from + count].to_vec();
                model[two].2[at..at + count].copy_from_slice(&bytes);
            }
        }
        _ => {
            let Some(at) = any(dice, model) else { return };
            let (id, head, bytes) = &mut model[at];
            let Some(object) = objects.get_mut(*id) else {
                assert!(objects.is_void(), "an object is lost");
                return;
            };
            head.odd = head.odd.wrapping_add(1);
            object.head.odd = head.odd;
            if !bytes.is_empty() {
                let (at, value) = (dice.roll(bytes.len()), dice.roll(256) as u8);
                bytes[at] = value;
                object.bytes[at] = value;
            }
        }
    }
}

fn check(objects: &mut Objects<Node>, flow: u32, now: u64, model: &Model) {
    begin(objects, flow, now, true);
    for (id, head, bytes) in model {
        let object = objects.get(*id).unwrap_or_else(|| panic!("{id:?} of flow {flow} is lost"));
        assert_eq!((&object.head, &object.bytes[..]), (head, &bytes[..]));
    }
    assert_eq!(objects.len(), model.len());
    end(objects, true, false);
}

/// Moves a flow with its objects, in parts.
fn hand_over(
    from: &mut Objects<Node>,
    to: &mut Objects<Node>,
    flow: u32,
    now: u64,
    dice: &mut Dice,
) -> bool {
    let mut left = from.count_flow(flow, now);
    let mut refused = None;
    let mut came = Vec::new();
    while left > 0 {
        let most = 1 + dice.roll(left as usize) as u32;
        let given = from.take_out(flow, now, most, &mut |piece| came.push(piece.to_vec()));
        assert_eq!(given, most, "as many pieces as were announced");
        for piece in came.drain(..) {
            let at = refused.as_mut();
            match at {
                Some(pieces) => Vec::push(pieces, piece),
                None if to.import_entry(&piece, flow, 0).is_ok() => {}
                None => refused = Some(vec![piece]),
            }
        }
        left -= most;
    }
    assert_eq!(from.take_out(flow, now, 9, &mut |_| {}), 0, "nothing is left");
    let Some(rest) = refused else { return true };
    // What came goes back, and the pieces behind it.
    let count = to.count_flow(flow, 0);
    let mut back = Vec::new();
    assert_eq!(to.take_out(flow, 0, u32::MAX, &mut |piece| back.push(piece.to_vec())), count);
    for piece in back.iter().chain(&rest) {
        from.take_back(piece, flow).unwrap();
    }
    false
}

#[test]
fn runs_undo_and_moves_are_as_in_a_model() {
    let rounds = if cfg!(miri) { 60 } else { 4000 };
    for seed in 1..=6_u64 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut sides = [side::<Node>(), side::<Node>()];
        let mut at = BTreeMap::<u32, usize>::new();
        let mut models = BTreeMap::<u32, Model>::new();
        let (mut moves, mut refused, mut undone) = (0, 0, 0);
        for round in 0..rounds {
            let flow = dice.roll(5) as u32;
            let now = 10 + round / 100;
            let side = at.entry(flow).or_default();
            let model = models.entry(flow).or_default();
            if dice.roll(6) == 0 {
                let [one, two] = &mut sides;
                let (from, to) = if *side == 0 { (one, two) } else { (two, one) };
                if hand_over(from, to, flow, now, &mut dice) {
                    *side = 1 - *side;
                    moves += 1;
                } else {
                    refused += 1;
                }
                check(&mut sides[*side], flow, now, model);
                continue;
            }
            let undo = *side == 0;
            let objects = &mut sides[*side];
            begin(objects, flow, now, undo);
            let before = model.clone();
            let most = if dice.roll(20) == 0 { 90 } else { 8 };
            for _ in 0..dice.roll(most) {
                write(objects, model, &mut dice);
                if objects.is_void() {
                    break;
                }
            }
            let punts = undo && (objects.is_void() || dice.roll(3) == 0);
            end(objects, undo, punts);
            if punts {
                *model = before;
                undone += 1;
            }
            check(&mut sides[*side], flow, now, model);
        }
        let enough = moves > 100 && refused > 10 && undone > 100;
        assert!(cfg!(miri) || enough, "{moves} moves, {refused} refused, {undone} undone");
    }
}

#[test]
fn ids_of_other_flows_and_of_removed_objects_find_nothing() {
    let mut objects = side::<Node>();
    let head = Node { next: Id::NONE, odd: 1 };
    begin(&mut objects, 0, 5, false);
    let id = objects.insert_with(head, b"mine").unwrap();
    assert_eq!(&objects.get(id).unwrap().bytes, b"mine");
    end(&mut objects, false, false);
    begin(&mut objects, 1, 5, false);
    assert!(objects.get(id).is_none());
    let other = objects.insert_with(head, b"other").unwrap();
    assert_ne!(id, other);
    assert!(objects.get(id).is_none() && objects.remove(id).is_none());
    assert_eq!(objects.copy(id, 0..1, other, 0), Err(ObjectError::NoObject));
    end(&mut objects, false, false);
    begin(&mut objects, 0, 6, false);
    assert!(objects.get(other).is_none() && objects.get(Id::NONE).is_none());
    assert_eq!(objects.remove(id), Some(head));
    assert!(objects.get(id).is_none());
    assert_ne!(objects.insert(head, 4), Ok(id), "a number is used once");
    end(&mut objects, false, false);
}

#[test]
fn a_flow_that_is_idle_for_long_loses_its_objects_and_their_ids() {
    let mut objects = side::<Node>();
    let head = Node { next: Id::NONE, odd: 1 };
    begin(&mut objects, 0, 5, false);
    let id = objects.insert(head, 100).unwrap();
    end(&mut objects, false, false);
    begin(&mut objects, 0, 1004, false);
    assert!(objects.get(id).is_some());
    end(&mut objects, false, false);
    assert_eq!((objects.count_flow(0, 2003), objects.count_flow(0, 2004)), (2, 0));
    begin(&mut objects, 0, 2004, false);
    assert!(objects.get(id).is_none() && objects.is_empty());
    let new = objects.insert(head, 100).unwrap();
    assert!(new != id && objects.get(id).is_none());
    end(&mut objects, false, false);
    // Runs of other flows free what ended.
    for run in 0..4 {
        begin(&mut objects, 1, 9000 + run, false);
        end(&mut objects, false, false);
    }
    assert_eq!((objects.store.owners.len(), objects.store.blocks.used()), (0, 0));
}

#[test]
fn full_memory_refuses_objects_until_some_are_removed_and_flows_until_some_end() {
    let mut objects = side::<Lasting>();
    let head = Lasting { next: Id::NONE, odd: 1 };
    begin(&mut objects, 0, 5, false);
    let mut ids = Vec::new();
    let refused = loop {
        match objects.insert(head, 4000) {
            Ok(id) => ids.push(id),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, ObjectError::NoRoom);
    assert!(ids.len() >= (1 << 20) / 5200, "only {} objects of 4,000 bytes", ids.len());
    assert_eq!(objects.insert(head, Objects::<Lasting>::LONGEST + 1), Err(ObjectError::TooLong));
    // No holes: after removing every second one there is room for as many of other sizes.
    for id in ids.iter().step_by(2) {
        assert_eq!(objects.remove(*id), Some(head));
    }
    for _ in 0..ids.len() / 2 * 5 {
        objects.insert(head, 600).unwrap();
    }
    end(&mut objects, false, false);
    begin(&mut objects, 1, 5, false);
    objects.clear();
    assert_eq!(objects.insert(head, 16_000), Err(ObjectError::NoRoom));
    end(&mut objects, false, false);
    begin(&mut objects, 0, 5, false);
    objects.clear();
    assert!(objects.is_empty());
    end(&mut objects, false, false);
    begin(&mut objects, 2, 5, false);
    assert_eq!(objects.insert(head, 0), Err(ObjectError::NoRoom), "of a third flow");
    end(&mut objects, false, false);
    objects.begin(Visit { now: 5, horizon: 5, undo: false, flow: NO_FLOW, ahead: 255 });
    assert_eq!(objects.insert(head, 0), Err(ObjectError::NoFlow));
}

#[test]
fn a_flow_that_comes_back_finds_room_when_the_side_is_full() {
    let [mut nic, mut host] = [side::<Lasting>(), side::<Lasting>()];
    let head = Lasting { next: Id::NONE, odd: 1 };
    for (objects, flow) in [(&mut nic, 0), (&mut host, 1)] {
        begin(objects, flow, 5, false);
        while objects.insert(head, 3000).is_ok() {}
        end(objects, false, false);
    }
    let mut pieces = Vec::new();
    let count = host.count_flow(1, 5);
    assert_eq!(host.take_out(1, 5, u32::MAX, &mut |piece| pieces.push(piece.to_vec())), count);
    assert!(nic.import_entry(&pieces[0], 1, 0).is_ok());
    let taken = pieces[1..].iter().take_while(|piece| nic.import_entry(piece, 1, 0).is_ok());
    assert!(taken.count() < pieces.len() - 2, "the other side is full");
    for piece in &pieces {
        host.take_back(piece, 1).unwrap();
    }
    nic.remove_flow(1);
    let count = nic.count_flow(0, 5);
    let mut back = 0;
    nic.take_out(0, 5, u32::MAX, &mut |piece| {
        back += 1;
        host.take_back(piece, 0).unwrap();
    });
    assert_eq!((back, host.evicted(), host.lost), (count, 0, 0));
    assert!(host.store.blocks.used() > Objects::<Lasting>::PAGES);
}

#[test]
fn hostile_pieces_are_refused_and_break_nothing() {
    let mut objects = side::<Node>();
    let mut dice = Dice(99);
    let mut other = side::<Node>();
    begin(&mut other, 0, 5, false);
    for _ in 0..40 {
        let (head, length) = (node(&mut dice), length(&mut dice) % 3000);
        other.insert(head, length).unwrap();
    }
    end(&mut other, false, false);
    let mut pieces = Vec::new();
    other.take_out(0, 5, u32::MAX, &mut |piece| pieces.push(piece.to_vec()));
    let mut refused = 0;
    for _ in 0..if cfg!(miri) { 50 } else { 20_000 } {
        let mut piece = pieces[dice.roll(pieces.len())].clone();
        for _ in 0..dice.roll(4) {
            let at = dice.roll(piece.len());
            piece[at] = dice.roll(256) as u8;
        }
        piece.truncate(1 + dice.roll(piece.len()));
        refused += u32::from(objects.take_back(&piece, dice.roll(9) as u32).is_err());
        if dice.roll(10) == 0 {
            objects.remove_flow(dice.roll(9) as u32);
        }
    }
    assert!(refused > 0);
    objects.export(0, &mut |_| {});
    for flow in 0..9 {
        let count = objects.count_flow(flow, 0);
        assert_eq!(objects.take_out(flow, 0, u32::MAX, &mut |_| {}), count);
    }
}

#[test]
fn reports_of_both_sides_have_one_digest() {
    let [mut nic, mut host] = [side::<Node>(), side::<Node>()];
    let mut dice = Dice(3);
    begin(&mut nic, 0, 5, false);
    for _ in 0..50 {
        let (head, length) = (node(&mut dice), length(&mut dice));
        nic.insert(head, length).unwrap();
    }
    end(&mut nic, false, false);
    let mut before = Vec::new();
    nic.export(5, &mut |piece| before.push(piece.to_vec()));
    assert_eq!(before.len(), 1);
    nic.take_out(0, 5, u32::MAX, &mut |piece| {
        host.take_back(piece, 0).unwrap();
    });
    let mut after = Vec::new();
    host.export(5, &mut |piece| after.push(piece.to_vec()));
    assert_eq!(before, after);
    let mut keys = Vec::new();
    nic.import(&before[0], 5, &mut |key, _| keys.push(key.to_vec())).unwrap();
    host.describe(5, &mut |key, _| keys.push(key.to_vec()));
    assert_eq!(keys[0], keys[1]);
    assert_eq!((nic.entries(5), host.entries(5)), (0, 50));
}
