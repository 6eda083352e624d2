//! Questions and answers, and buckets that are full.

use std::collections::HashMap;

use cora::testing::{TestOutbox, TestRegion, message, outbox, region, run_ended, sent, udp};

use super::*;

struct Store {
    buckets: TestRegion<Bucket>,
    items: TestRegion<Item>,
    out: TestOutbox,
}

impl Store {
    fn new() -> Self {
        Self { buckets: region(), items: region(), out: outbox() }
    }

    /// The answer of the store: a value, nothing, or that the value is stored.
    fn ask(&mut self, ask: Ask) -> Option<Vec<u8>> {
        let mut frame = udp(([10, 0, 0, 1], 5_000), ([10, 77, 0, 2], 7_000), b"");
        let packet = Packet::new(&mut frame, Meta::default());
        self.out.clear();
        self.out.begin(&Envelope::of(&packet));
        let mut answers = self.out.messages::<Answer>();
        let verdict = mica(&ask, &mut self.buckets, &mut self.items, &mut answers);
        assert_eq!(verdict, Done);
        run_ended(&mut self.buckets, true);
        run_ended(&mut self.items, true);
        match message(&sent(&self.out)[0]).unwrap() {
            Answer::Is { value } => Some(value.to_vec()),
            Answer::Nothing => None,
            Answer::Stored => Some(b"stored".to_vec()),
        }
    }

    fn get(&mut self, name: &str) -> Option<Vec<u8>> {
        self.ask(Ask::Get { name: Name::of(name.as_bytes()).unwrap() })
    }

    fn put(&mut self, name: &str, value: &str) {
        let (name, value) = (Name::of(name.as_bytes()), Value::of(value.as_bytes()));
        let ask = Ask::Put { name: name.unwrap(), value: value.unwrap() };
        assert_eq!(self.ask(ask), Some(b"stored".to_vec()));
    }
}

#[test]
fn the_last_value_of_a_name_is_answered() {
    let mut store = Store::new();
    assert_eq!(store.get("one"), None);
    store.put("one", "1");
    store.put("two", "2");
    store.put("one", "3");
    assert_eq!(store.get("one"), Some(b"3".to_vec()));
    assert_eq!(store.get("two"), Some(b"2".to_vec()));
    assert_eq!(store.get(""), None);
}

#[test]
fn thousands_of_names_are_kept_apart() {
    let mut store = Store::new();
    let mut stored = HashMap::new();
    for number in 0..20_000 {
        let (name, value) = (format!("name:{}", number % 7_000), number.to_string());
        store.put(&name, &value);
        stored.insert(name, value);
    }
    let kept = stored.iter().filter(|(name, value)| match store.get(name) {
        Some(is) => {
            assert_eq!(is, value.as_bytes(), "{name}");
            true
        }
        None => false,
    });
    // Some 0.1 names a bucket: hardly one has more than seven.
    assert_eq!(kept.count(), stored.len());
}

#[test]
fn the_oldest_of_a_full_bucket_goes() {
    let mut store = Store::new();
    let home = |name: &str| hash(name.as_bytes()) as u32 % BUCKETS;
    let names: Vec<String> =
        (0..).map(|number| format!("n{number}")).filter(|it| home(it) == 5).take(9).collect();
    for name in &names {
        store.put(name, name);
    }
    let left: Vec<bool> = names.iter().map(|name| store.get(name).is_some()).collect();
    assert_eq!(left, [false, false, true, true, true, true, true, true, true]);
}
