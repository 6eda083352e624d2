//! Compares the elements of records with IANA's registry, as far as `registry/ipfix.txt` has it.

use std::collections::BTreeMap;

use cora_core::record::element;

/// Number and width in bytes, by name.
fn registry() -> BTreeMap<&'static str, (u16, u16)> {
    let lines = include_str!("registry/ipfix.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("number, name and type");
        let (number, name, kind) = (word(), word(), word());
        let width = match kind {
            "unsigned8" => 1,
            "unsigned16" => 2,
            "unsigned32" | "ipv4Address" | "dateTimeSeconds" => 4,
            "unsigned64" | "dateTimeMilliseconds" => 8,
            "ipv6Address" => 16,
            "string" => u16::MAX,
            other => panic!("a type without a width: {other}"),
        };
        (name, (number.parse().expect("a number"), width))
    });
    rows.collect()
}

#[test]
fn elements_have_the_numbers_and_widths_of_the_registry() {
    let registry = registry();
    for (name, element) in element::ALL {
        let found = (element.number, element.width);
        assert_eq!(registry.get(name), Some(&found), "{name}");
        assert_eq!(element.enterprise, 0, "{name}");
    }
    assert!(element::ALL.len() >= 20);
}

#[test]
fn no_number_stands_twice() {
    let registry = registry();
    let numbers: std::collections::BTreeSet<u16> =
        registry.values().map(|(number, _)| *number).collect();
    assert_eq!(numbers.len(), registry.len());
    assert_eq!(registry["maximumLayer2TotalLength"], (423, 8));
    assert_eq!(element::LONGEST_FRAME.number, 423);
}
