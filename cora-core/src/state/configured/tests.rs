use std::string::{String, ToString as _};
use std::vec::Vec;

use prefix_trie::joint::JointPrefixMap;
use proptest::prelude::*;

use super::acl::{self, ByMatch};
use super::map::{self, ByKey};
use super::prefixes::{self, ByPrefix};
use super::*;
use crate::config::tests::Cells;
use crate::config::{self, File as _};
use crate::key::{Address, FiveTuple, Prefix, SourceAddress, protocol};
use crate::state::memory::leak;

/// Declares a row with one field, as `#[state(…)]` does.
macro_rules! row {
    ($name:ident, $form:ty, $words:path, $capacity:literal) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $name {
            number: u32,
        }

        impl Plain for $name {
            const SIZE: usize = 4;
            fn put(&self, out: &mut [u8]) {
                self.number.put(out);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self { number: Plain::get(bytes)? })
            }
            fn describe(&self, to: &mut dyn Describe) {
                self.number.describe(to);
            }
        }

        impl Row for $name {
            type Form = $form;
            const NAME: &'static str = stringify!($name);
            const CAPACITY: u32 = $capacity;
            const WORDS: usize = $words($capacity);
            const COLUMNS: &'static [&'static str] = &["number"];

            fn from_columns(file: &mut dyn config::File) -> Option<Self> {
                Some(Self { number: config::read(file, "number")? })
            }
        }
    };
}

row!(Route, ByPrefix, prefixes::words, 2000);
row!(Subscriber, ByKey<SourceAddress>, map::words, 2000);
row!(Rule, ByMatch, acl::words, 500);

fn create<S: Row>() -> Configured<S> {
    Configured::create(&mut leak(Configured::<S>::BYTES)).expect("as many bytes as it says")
}

/// A table of these rows, each with its number as its field.
fn table<S: Row>(columns: &str, rows: impl IntoIterator<Item = String>) -> Configured<S> {
    let head = std::format!("{columns},number");
    let rows = rows.into_iter().enumerate().map(|(number, row)| std::format!("{row},{number}"));
    let split = |line: String| line.split(',').map(str::to_owned).collect();
    let mut file = Cells::of([head].into_iter().chain(rows).map(split).collect());
    let mut table = create();
    table.configure(&mut file);
    assert_eq!(file.faults, Vec::<String>::new());
    table
}

/// The same table at the other side, from its pieces.
fn sent<S: Row>(table: &mut Configured<S>) -> Configured<S> {
    let mut there = create();
    table.export(0, &mut |piece| {
        assert!(piece.len() <= MAX_PIECE);
        there.merge(piece).expect("a piece of a table");
    });
    there
}

fn address() -> impl Strategy<Value = Address> {
    // Few values, so that prefixes cover each other.
    let v4 = (0..3_u8, 0..3_u8, 0..4_u8, any::<u8>());
    let v4 = v4.prop_map(|(a, b, c, d)| Address::v4([10 + a, b, c, d]));
    let v6 = (0..3_u8, any::<u8>(), 0..2_u8).prop_map(|(a, b, c)| {
        let mut octets = [0; 16];
        (octets[0], octets[1], octets[7], octets[15]) = (0x20, a, b, c);
        Address::v6(octets)
    });
    prop_oneof![3 => v4, 1 => v6]
}

fn prefix() -> impl Strategy<Value = Prefix> {
    (address(), any::<u8>()).prop_map(|(address, length)| {
        let width = if address.is_v4() { 33 } else { 129 };
        Prefix::new(address, length % width).expect("a length in range")
    })
}

fn net(prefix: &Prefix) -> ipnet::IpNet {
    prefix.to_string().parse().expect("a prefix")
}

proptest! {
    #[test]
    fn longest_matches_are_those_of_prefix_trie(
        prefixes in prop::collection::btree_set(prefix(), 0..400),
        asked in prop::collection::vec(address(), 100),
    ) {
        let mut here = table::<Route>("prefix", prefixes.iter().map(ToString::to_string));
        let there = sent(&mut here);
        let mut judge = JointPrefixMap::new();
        for (number, prefix) in prefixes.iter().enumerate() {
            judge.insert(net(prefix), number as u32);
        }
        let edges = prefixes.iter().map(Prefix::address);
        for address in asked.into_iter().chain(edges) {
            let one = net(&address.to_string().parse().expect("an address"));
            let expected = judge.get_lpm(&one).map(|(_, number)| *number);
            prop_assert_eq!(here.longest(address).map(|row| row.number), expected, "{}", address);
            prop_assert_eq!(there.longest(address).map(|row| row.number), expected, "{}", address);
        }
    }

    #[test]
    fn the_first_rule_is_that_of_a_scan(
        rules in prop::collection::vec(
            (prop::option::of(prefix()), prop::option::of(prefix()), 0..4_usize, 0..4_usize),
            0..200,
        ),
        asked in prop::collection::vec((address(), address(), 0..3_usize, 0..4_u16), 100),
    ) {
        let any = |prefix: &Option<Prefix>| prefix.map_or("any".to_owned(), |it| it.to_string());
        let is_one_family = |rule: &(Option<Prefix>, Option<Prefix>, usize, usize)| {
            rule.0.zip(rule.1).is_none_or(|(a, b)| a.address().is_v4() == b.address().is_v4())
        };
        let lines = rules.iter().filter(|rule| is_one_family(rule)).map(|rule| {
            let protocol = ["any", "tcp", "udp", "icmp"][rule.2];
            let ports = if matches!(rule.2, 1 | 2) { ["any", "1", "0-2", "2-65535"][rule.3] } else { "" };
            std::format!("{},{},{protocol},any,{ports}", any(&rule.0), any(&rule.1))
        });
        let columns = "source,destination,protocol,source_port,destination_port";
        let mut here = table::<Rule>(columns, lines);
        let there = sent(&mut here);
        for (source, destination, transport, port) in asked {
            let protocol = [protocol::TCP, protocol::UDP, protocol::ICMP][transport];
            let flow =
                FiveTuple { source, destination, source_port: 9, destination_port: port, protocol };
            let expected = here.now.rows().find(|rule| rule.place.fits(&flow)).map(|rule| rule.row);
            prop_assert_eq!(here.first(&flow).copied(), expected, "{}", flow);
            prop_assert_eq!(there.first(&flow).copied(), expected, "{}", flow);
        }
    }

    #[test]
    fn a_map_has_what_was_written_and_nothing_else(
        keys in prop::collection::btree_set(address(), 0..1000),
        asked in prop::collection::vec(address(), 100),
    ) {
        let mut here = table::<Subscriber>("address", keys.iter().map(ToString::to_string));
        let there = sent(&mut here);
        for address in asked.into_iter().chain(keys.iter().copied()) {
            let expected = keys.iter().position(|key| *key == address).map(|at| at as u32);
            let key = SourceAddress(address);
            prop_assert_eq!(here.get(&key).map(|row| row.number), expected);
            prop_assert_eq!(there.get(&key).map(|row| row.number), expected);
        }
    }

    #[test]
    fn damaged_pieces_are_refused_and_answer_something(
        prefixes in prop::collection::btree_set(prefix(), 1..50),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        asked in prop::collection::vec(address(), 20),
    ) {
        let mut here = table::<Route>("prefix", prefixes.iter().map(ToString::to_string));
        let mut pieces = Vec::new();
        here.export(0, &mut |piece| pieces.push(piece.to_vec()));
        let (piece, inside) = (at.index(pieces.len()), at.index(500));
        if let Some(place) = pieces[piece].get_mut(inside) {
            *place = byte;
        }
        let mut there = create::<Route>();
        for piece in &pieces {
            let _may_be_refused = there.merge(piece);
        }
        for address in asked {
            let _no_panic = there.longest(address);
        }
    }
}

#[test]
fn the_last_piece_puts_a_version_in_force_and_only_if_all_came() {
    let mut here = table::<Route>("prefix", ["0.0.0.0/0".to_owned(), "::/0".to_owned()]);
    here.begin_generation(Generation::new(7));
    let mut pieces = Vec::new();
    here.export(0, &mut |piece| pieces.push(piece.to_vec()));
    let mut there = create::<Route>();
    assert_eq!(there.generation(), Generation::FIRST);
    for left_out in 1..pieces.len() - 1 {
        for (number, piece) in pieces.iter().enumerate().filter(|(at, _)| *at != left_out) {
            let is_last = number == pieces.len() - 1;
            assert_eq!(there.merge(piece).is_err(), is_last, "piece {left_out} is missing");
            assert!(there.is_empty());
        }
    }
    let (last, others) = pieces.split_last().expect("pieces");
    for piece in others {
        there.merge(piece).expect("a piece");
    }
    assert!(there.is_empty(), "not in force yet");
    there.merge(last).expect("the last piece");
    assert_eq!((there.len(), there.generation().number()), (2, 7));
    assert_eq!(there.longest(Address::v4([1; 4])).map(|row| row.number), Some(0));
    assert_eq!(there.longest(Address::v6([1; 16])).map(|row| row.number), Some(1));
}

#[test]
fn a_file_with_faults_changes_nothing() {
    let mut routes = table::<Route>("prefix", ["10.0.0.0/8".to_owned()]);
    let faults = |routes: &mut Configured<Route>, text| {
        let mut file = Cells::new(text);
        routes.configure(&mut file);
        file.faults
    };
    let twice = "prefix,number\n10.0.0.0/8,1\n::/0,2\n10.0.0.0/8,3";
    assert_eq!(faults(&mut routes, twice), ["2: 10.0.0.0/8 as in 0"]);
    let wrong = "prefix,number\n10.0.0.0/33,x\n";
    assert_eq!(faults(&mut routes, wrong).len(), 2, "of both columns");
    assert_eq!(routes.longest(Address::v4([10, 1, 1, 1])), Some(&Route { number: 0 }));
    let rows = core::iter::once("prefix,number".to_owned());
    let rows = rows.chain((0..2001).map(|number| std::format!("::{number:x},{number}")));
    let split = |line: String| line.split(',').map(str::to_owned).collect();
    let mut file = Cells::of(rows.map(split).collect());
    routes.configure(&mut file);
    assert_eq!(file.faults, ["2000: the table has room for 2000 rows: raise its `capacity`"]);
    assert_eq!(routes.len(), 1);
}

#[test]
fn a_version_is_whole_after_one_that_was_refused() {
    let mut hosts = create::<Subscriber>();
    let mut read = |text| {
        let mut file = Cells::new(text);
        hosts.configure(&mut file);
        (file.faults, [1, 2].map(|last| hosts.get(&host(last)).map(|row| row.number)))
    };
    assert_eq!(read("address,number\n10.0.0.1,1"), (Vec::new(), [Some(1), None]));
    let (faults, found) = read("address,number\n10.0.0.2,5\n10.0.0.2,6");
    assert_eq!((faults.len(), found), (1, [Some(1), None]));
    assert_eq!(read("address,number\n10.0.0.2,2"), (Vec::new(), [None, Some(2)]));
    assert_eq!(read("address,number\n"), (Vec::new(), [None, None]));
}

fn host(last: u8) -> SourceAddress {
    SourceAddress(Address::v4([10, 0, 0, last]))
}

#[test]
fn a_rule_that_fits_nothing_is_a_fault() {
    let faults = |row: &str| {
        let head = "source,destination,protocol,source_port,destination_port";
        let split = |line: &str| line.split(',').map(str::to_owned).collect();
        let mut file = Cells::of([head, row].map(split).to_vec());
        file.next_row();
        assert_eq!(Match::from_columns(&mut file).is_none(), !file.faults.is_empty());
        file.faults.join("\n")
    };
    assert_eq!(faults("any,10.0.0.0/8,tcp,1-2,80"), "");
    assert_eq!(faults(",,,,"), "");
    assert!(faults("any,any,any,any,80").contains("destination_port: ports are those of"));
    assert!(faults("any,any,icmp,80,any").contains("source_port: ports are those of"));
    assert!(faults("10.0.0.0/8,::/0,any,,").contains("one family"));
    assert!(faults("any,any,tcp,2-1,any").contains("from low to high"));
    assert!(faults("any,any,0,any,any").contains("a protocol is"));
    assert_eq!(faults("ten,any,tcpp,x,any").lines().count(), 3);
}

/// Nested and neighbouring prefixes that make nodes of all sizes.
#[test]
fn the_index_never_takes_more_words_than_it_may() {
    for spread in [1, 3, 8, 32, 64, 255] {
        let prefixes = (0..2000_u32).map(|number| {
            let address = 0x0a00_0000 + number * spread;
            std::format!("{}/32", core::net::Ipv4Addr::from(address))
        });
        let table = table::<Route>("prefix", prefixes);
        assert!(table.index_bytes() <= 4 * Route::WORDS, "{spread}");
        for number in 0..2000 {
            let address = Address::from(core::net::Ipv4Addr::from(0x0a00_0000 + number * spread));
            assert_eq!(table.longest(address), Some(&Route { number }));
        }
    }
}
