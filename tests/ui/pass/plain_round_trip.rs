//! What `Plain` and `Replica` encode, they decode; what encodes nothing is refused.

use cora::__private::core::plain::Plain as Encoding;
use cora::__private::core::state::{Keyed, Replica};
use cora::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
enum Mode {
    Off,
    Slow = 16,
    Fast,
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
struct Range {
    first: u16,
    last: u16,
}

#[state(key = FiveTuple, capacity = 64 * 1024, idle = "1m30s")]
#[derive(Debug, PartialEq)]
struct Session {
    mode: Mode,
    at: usize_free::Counter,
    ranges: [Range; 2],
    r#type: bool,
}

mod usize_free {
    use cora::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Plain)]
    pub(crate) struct Counter(pub(crate) u32, pub(crate) i8);
}

#[state(commutative)]
struct Counts {
    packets: Sum,
    longest: Max,
    sketch: CountMin<2, 16>,
    bytes: Sum,
}

fn plain() {
    let session = Session {
        mode: Mode::Fast,
        at: usize_free::Counter(0x0102_0304, -1),
        ranges: [Range { first: 1, last: 2 }, Range { first: 3, last: 0x0405 }],
        r#type: true,
    };
    let mut bytes = [0xee; Session::SIZE + 1];
    session.put(&mut bytes);
    assert_eq!(bytes, [17, 4, 3, 2, 1, 0xff, 1, 0, 2, 0, 3, 0, 5, 4, 1, 0xee]);
    assert_eq!(<Session as Encoding>::get(&bytes), Some(session));
    assert_eq!(<Session as Encoding>::get(&bytes[..14]), None, "too short");
    bytes[0] = 15;
    assert_eq!(<Session as Encoding>::get(&bytes), None, "no such mode");
    bytes[0] = 0;
    bytes[14] = 2;
    assert_eq!(<Session as Encoding>::get(&bytes), None, "no truth value");
    assert_eq!((Session::CAPACITY, Session::IDLE, Session::REPLY), (65_536, 90_000_000_000, false));
    assert_eq!(<Session as Keyed>::NAME, "Session");
    assert_ne!(Mode::Off, Mode::Slow);
}

fn units() {
    let mut here = Counts::EMPTY;
    let mut there = Counts::EMPTY;
    here.packets.add(3);
    here.longest.raise(900);
    here.bytes.add(77);
    here.begin(false);
    assert_eq!(Counts::UNITS, 2 * Sum::UNITS + Max::UNITS + CountMin::<2, 16>::UNITS);
    let mut bytes = [0; 64];
    for unit in 0..Counts::UNITS {
        let length = here.put_unit(unit, &mut bytes);
        there.merge_unit(unit, &bytes[..length]).unwrap();
        let mut again = [0; 64];
        assert_eq!(there.put_unit(unit, &mut again), length);
        assert_eq!(again[..length], bytes[..length], "unit {unit}");
    }
    assert!(there.merge_unit(Counts::UNITS, &[0; 8]).is_err(), "no such unit");
    there.sketch.add(&SourceAddress::default(), 1);
    there.rollback();
}

fn main() {
    plain();
    units();
}
