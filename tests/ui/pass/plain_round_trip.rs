//! What `Plain` and `Replica` encode, they decode; what encodes nothing is refused.

use cora::__private::core::plain::Plain as Encoding;
use cora::__private::core::short::{ShortReader, ShortWriter};
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

/// The largest variant is in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(u8)]
enum Event {
    Ended,
    Grant { to: u32, r#type: Mode } = 4,
    Name(Bytes<6>),
    Pair(u8, bool),
    None {},
    Inner(Inner),
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
enum Inner {
    One(u16),
    Two,
}

/// No variant has a field, but not all are written without braces.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
enum Braces {
    Left {},
    Right(),
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
struct Told {
    at: u64,
    events: [Event; 2],
    last: Bytes<40>,
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
struct Nothing {}

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

/// Checks that a value comes back from both its forms and from no part of them. Returns the
/// encoding and the short form.
fn forms<T: Plain + PartialEq + std::fmt::Debug>(value: T) -> (Vec<u8>, Vec<u8>) {
    let mut fixed = vec![0xee; T::SIZE + 1];
    value.put(&mut fixed);
    assert_eq!(fixed.pop(), Some(0xee), "{value:?} is not longer");
    assert_eq!(T::get(&fixed), Some(value));
    for length in 0..fixed.len() {
        assert_eq!(T::get(&fixed[..length]), None, "{value:?}: {length} bytes");
        value.put(&mut vec![0; length]);
    }
    let mut short = vec![0xee; T::SIZE];
    let mut writer = ShortWriter::new(&mut short);
    value.put_short(&mut writer);
    let length = writer.finish().unwrap();
    short.truncate(length);
    let read = |bytes: &[u8]| {
        let mut reader = ShortReader::new(bytes);
        T::get_short(&mut reader).map(|value| (value, reader.is_at_end()))
    };
    assert_eq!(read(&short), Some((value, true)));
    assert_eq!(read(&[&short[..], &[0]].concat()), Some((value, false)));
    for length in 0..short.len() {
        assert_eq!(read(&short[..length]), None, "{value:?}: {length} bytes");
        let mut place = vec![0; length];
        let mut writer = ShortWriter::new(&mut place);
        value.put_short(&mut writer);
        assert_eq!(writer.finish(), None, "{value:?} in {length} bytes");
    }
    (fixed, short)
}

fn name(text: &str) -> Bytes<6> {
    Bytes::of(text.as_bytes()).unwrap()
}

fn enums() {
    assert_eq!((Event::SIZE, Inner::SIZE, Mode::SIZE, Braces::SIZE), (9, 3, 1, 1));
    assert_eq!((Event::SHORTENS, Mode::SHORTENS, Range::SHORTENS), (true, false, false));
    let cases: [(Event, [u8; 9], usize); 8] = [
        (Event::Ended, [0; 9], 1),
        (Event::Grant { to: 0x0102, r#type: Mode::Fast }, [4, 2, 1, 0, 0, 17, 0, 0, 0], 6),
        (Event::Name(name("abcdef")), *b"\x05\x06\0abcdef", 9),
        (Event::Name(name("ab")), *b"\x05\x02\0ab\0\0\0\0", 5),
        (Event::Pair(9, true), [6, 9, 1, 0, 0, 0, 0, 0, 0], 3),
        (Event::None {}, [7, 0, 0, 0, 0, 0, 0, 0, 0], 1),
        (Event::Inner(Inner::One(0x0304)), [8, 0, 4, 3, 0, 0, 0, 0, 0], 4),
        (Event::Inner(Inner::Two), [8, 1, 0, 0, 0, 0, 0, 0, 0], 2),
    ];
    for (event, encoding, length) in cases {
        let (fixed, short) = forms(event);
        assert_eq!(fixed, encoding);
        assert_eq!(short, encoding[..length], "{event:?}");
        // One encoding per value: of any other bytes nothing is read, or another value.
        for at in 0..fixed.len() {
            for bit in 0..8 {
                let mut other = fixed.clone();
                other[at] ^= 1 << bit;
                let read = Event::get(&other);
                assert_ne!(read, Some(event), "{other:?}");
                if let Some(read) = read {
                    assert_eq!(forms(read).0, other);
                }
            }
        }
    }
    for number in (1..4).chain(9..=255) {
        let bytes = [number, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Event::get(&bytes), None, "no such variant");
        assert_eq!(Event::get_short(&mut ShortReader::new(&bytes)), None, "no such variant");
    }
    assert_eq!((forms(Braces::Left {}), forms(Braces::Right())), twice([0], [1]));
}

fn twice(left: [u8; 1], right: [u8; 1]) -> ((Vec<u8>, Vec<u8>), (Vec<u8>, Vec<u8>)) {
    ((left.to_vec(), left.to_vec()), (right.to_vec(), right.to_vec()))
}

fn short_forms() {
    assert_eq!(forms(Nothing {}), (vec![], vec![]));
    assert_eq!(forms(Mode::Slow), (vec![16], vec![16]));
    let told = Told {
        at: 1,
        events: [Event::Name(name("ab")), Event::Ended],
        last: Bytes::of(b"last").unwrap(),
    };
    let (fixed, short) = forms(told);
    assert_eq!((fixed.len(), short.len()), (8 + 2 * 9 + 42, 8 + 5 + 1 + 6));
    assert_eq!(&short, b"\x01\0\0\0\0\0\0\0\x05\x02\0ab\0\x04\0last");
    let too_long = [&short[..8], b"\x05\x07\0abcdefg\0\x04\0last"].concat();
    assert_eq!(Told::get_short(&mut ShortReader::new(&too_long)), None);
}

/// A description as JSON without quotes.
#[derive(Default)]
struct Text(String);

impl Describe for Text {
    fn number(&mut self, value: u128) {
        self.0 += &format!("{value},");
    }
    fn signed(&mut self, value: i128) {
        self.0 += &format!("{value},");
    }
    fn truth(&mut self, value: bool) {
        self.0 += &format!("{value},");
    }
    fn text(&mut self, value: &dyn std::fmt::Display) {
        self.0 += &format!("{value},");
    }
    fn open(&mut self) {
        self.0.push('{');
    }
    fn field(&mut self, name: &'static str) {
        self.0 += &format!("{name}:");
    }
    fn close(&mut self) {
        self.0.push('}');
    }
    fn open_list(&mut self) {
        self.0.push('[');
    }
    fn close_list(&mut self) {
        self.0.push(']');
    }
}

fn descriptions() {
    let text = |event: Event| {
        let mut text = Text::default();
        event.describe(&mut text);
        text.0
    };
    assert_eq!(text(Event::Ended), "Ended,");
    assert_eq!(text(Event::None {}), "None,");
    assert_eq!(text(Event::Grant { to: 7, r#type: Mode::Off }), "{Grant:{to:7,type:Off,}}");
    assert_eq!(text(Event::Name(name("a\n"))), "{Name:a\\n,}");
    assert_eq!(text(Event::Pair(1, true)), "{Pair:[1,true,]}");
    assert_eq!(text(Event::Inner(Inner::One(1))), "{Inner:{One:1,}}");
}

fn main() {
    plain();
    enums();
    short_forms();
    descriptions();
    units();
}
