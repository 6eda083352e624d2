//! Trees that are whole, and nodes that are none.

use cora::testing::{TestOutbox, TestRegion, message, outbox, region, run_ended, sent, udp};

use super::*;

struct Tree {
    nodes: TestRegion<Node>,
    out: TestOutbox,
}

impl Tree {
    fn new() -> Self {
        Self { nodes: region(), out: outbox() }
    }

    fn ask_from(&mut self, host: [u8; 4], ask: Ask) -> Answer {
        let mut frame = udp((host, 5_000), ([127, 0, 0, 1], 7_001), b"");
        let packet = Packet::new(&mut frame, Meta::default());
        self.out.clear();
        let envelope = Envelope::of(&packet);
        self.out.begin(&envelope);
        let mut answers = self.out.messages::<Answer>();
        let loader = Loader::default();
        let verdict = btree(&ask, &mut self.nodes, &loader, &envelope, &mut answers);
        assert_eq!(verdict, Done);
        run_ended(&mut self.nodes, true);
        message(&sent(&self.out)[0]).unwrap()
    }

    fn load(&mut self, number: u32, node: Content) -> bool {
        match self.ask_from([127, 0, 0, 1], Ask::Load { number, node }) {
            Answer::Loaded { number: loaded } => loaded == number,
            _ => false,
        }
    }

    fn find(&mut self, key: u64) -> Option<u64> {
        match self.ask_from([10, 0, 0, 1], Ask::Find { key }) {
            Answer::Is { value } => Some(value),
            Answer::Nothing => None,
            _ => panic!("an answer of a load"),
        }
    }
}

/// A node of these keys, with what belongs to them.
fn node(is_leaf: bool, keys: &[u64], of: &[u64]) -> Content {
    let mut node = Content { is_leaf, count: keys.len() as u8, keys: [0; KEYS], of: [0; KEYS + 1] };
    node.keys[..keys.len()].copy_from_slice(keys);
    node.of[..of.len()].copy_from_slice(of);
    node
}

#[test]
fn keys_are_found_in_their_leaves() {
    let mut tree = Tree::new();
    assert_eq!(tree.find(5), None, "an empty tree");
    assert!(tree.load(1, node(true, &[2, 5], &[20, 50])));
    assert!(tree.load(2, node(true, &[7, 9, 11], &[70, 90, 110])));
    assert!(tree.load(0, node(false, &[7], &[1, 2])));
    let found = [0, 2, 3, 5, 6, 7, 10, 11, u64::MAX].map(|key| tree.find(key));
    let right = [None, Some(20), None, Some(50), None, Some(70), None, Some(110), None];
    assert_eq!(found, right);
}

#[test]
fn what_is_no_node_is_refused() {
    let mut tree = Tree::new();
    for (number, wrong) in [
        (3, node(true, &[5, 5], &[1, 2])),
        (3, node(false, &[5], &[3, 4])),
        (3, node(false, &[5], &[4, 1])),
        (3, node(false, &[5], &[4, NODES.into()])),
        (3, Content { count: KEYS as u8 + 1, ..node(true, &[], &[]) }),
        (NODES, node(true, &[5], &[1])),
    ] {
        assert!(!tree.load(number, wrong), "{wrong:?}");
    }
    let refused =
        tree.ask_from([10, 0, 0, 1], Ask::Load { number: 3, node: node(true, &[5], &[1]) });
    assert!(matches!(refused, Answer::Refused), "from somebody else");
}

#[test]
fn a_tree_that_is_too_deep_ends_too() {
    let mut tree = Tree::new();
    for number in 0..8 {
        assert!(tree.load(number, node(false, &[], &[u64::from(number) + 1])));
    }
    assert_eq!(tree.find(1), None);
}
