use super::super::{Described as _, Home as _, Visit, memory_for_tests};
use super::*;
use crate::plain::Describe;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Node {
    is_leaf: bool,
    next: [u64; 3],
}

impl Plain for Node {
    const SIZE: usize = 25;
    fn put(&self, out: &mut [u8]) {
        self.is_leaf.put(out);
        self.next.put(out.get_mut(1..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { is_leaf: bool::get(bytes)?, next: Plain::get(bytes.get(1..)?)? })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.next.describe(to);
    }
}

impl RegionState for Node {
    const NAME: &'static str = "Node";
    const LENGTH: u32 = 1_000;
}

const ZERO: Node = Node { is_leaf: false, next: [0; 3] };

fn node(first: u64) -> Node {
    Node { is_leaf: true, next: [first, 0, 7] }
}

fn region() -> Region<Node> {
    Region::create(&mut memory_for_tests(Region::<Node>::BYTES)).unwrap()
}

fn begin(region: &mut Region<Node>) {
    region.begin(Visit::OF_A_HOOK);
}

fn name(stopped: Result<impl Sized, Stop>) -> &'static str {
    stopped.err().and_then(|stop| stop.reason()).map_or("none", |reason| reason.name())
}

#[test]
fn a_run_sees_its_own_writes_and_others_see_them_when_it_has_ended() {
    let mut region = region();
    begin(&mut region);
    assert_eq!(region.read(999).unwrap(), &ZERO);
    region.write(999, node(1)).unwrap();
    region.write(3, node(2)).unwrap();
    region.write(3, node(3)).unwrap();
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&node(1), &node(3)));
    region.rollback();
    begin(&mut region);
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&ZERO, &ZERO));
    region.write(3, node(4)).unwrap();
    region.commit(true);
    begin(&mut region);
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&ZERO, &node(4)));
    // References to several items live side by side.
    let (one, two) = (region.read(3).unwrap(), region.read(4).unwrap());
    assert_ne!(one, two);
}

#[test]
fn a_run_uses_a_bounded_number_of_items() {
    let mut region = region();
    begin(&mut region);
    assert_eq!(name(region.read(1_000)), "no-such-item");
    assert_eq!(name(region.write(u32::MAX, ZERO)), "no-such-item");
    for number in 0..MOST_ITEMS as u32 {
        region.read(number).unwrap();
        region.read(0).unwrap();
    }
    assert_eq!(name(region.read(900)), "too-many-items");
    assert_eq!(name(region.write(900, ZERO)), "too-many-items");
    region.write(5, node(5)).unwrap();
    region.commit(false);
    begin(&mut region);
    assert_eq!(region.read(900).unwrap(), &ZERO);
    assert_eq!(region.read(5).unwrap(), &node(5));
}

#[test]
fn items_cross_and_are_told_by_their_numbers() {
    let (mut here, mut there) = (region(), region());
    begin(&mut here);
    for number in [0, 17, 999] {
        here.write(number, node(number.into())).unwrap();
    }
    here.commit(false);
    let mut pieces = Vec::new();
    here.export(0, &mut |piece| pieces.push(piece.to_vec()));
    assert_eq!(pieces.len(), 3);
    for piece in &pieces {
        there.merge(piece).unwrap();
    }
    let mut told = Vec::new();
    there.describe(0, &mut |key, _| told.push(key.to_vec()));
    assert_eq!(told, [[0, 0, 0, 0], [0, 0, 0, 17], [0, 0, 3, 231]]);
    begin(&mut there);
    assert_eq!(there.read(17).unwrap(), &node(17));
    // Nothing that is no item is believed.
    let long = [&pieces[0][..], &[0]].concat();
    let beyond = [&1_000_u32.to_le_bytes()[..], &pieces[0][4..]].concat();
    let mut invalid = pieces[0].clone();
    invalid[4] = 2;
    for piece in [&[][..], &pieces[0][..20], &long, &beyond, &invalid] {
        assert_eq!(there.merge(piece), Err(super::super::Malformed));
    }
}
