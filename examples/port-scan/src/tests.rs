//! Who is a scanner.

use super::*;

fn service(port: u16) -> Option<u8> {
    let destination = Address::v4([10, 0, 0, 1]);
    let service =
        FiveTuple { destination, destination_port: port, protocol: 6, ..FiveTuple::default() };
    Some(bit(&service))
}

/// How many services of a row a source may try, one a millisecond.
fn tries(limit: &Limit, first: u16) -> u64 {
    let mut source = Source::new(0);
    let refused =
        (0..10_000_u64).find(|n| !source.note(service(first + *n as u16), limit, n * 1_000_000));
    refused.expect("it is found out")
}

#[test]
fn about_as_many_services_as_the_threshold_says() {
    for threshold in [10, 50, 200] {
        let limit = Limit { window: 600 * SECOND, block: SECOND, bits: Limit::bits(threshold) };
        let mean = (0..50).map(|n| tries(&limit, n * 1_000)).sum::<u64>() / 50;
        let off = mean.abs_diff(u64::from(threshold));
        assert!(off <= 2 + u64::from(threshold) / 10, "{mean} services instead of {threshold}");
    }
    assert_eq!((Limit::bits(0), Limit::bits(1), Limit::bits(500)), (0, 1, 220));
}

#[test]
fn a_service_tried_often_is_one() {
    let mut source = Source::new(0);
    assert!((0..1_000).all(|n| source.note(service(443), &Limits::default().limit, n)));
    assert!((0..1_000).all(|n| source.note(None, &Limits::default().limit, n)));
}

#[test]
fn a_block_ends_and_so_does_a_window() {
    let limits = Limits::configure("window 10\nblock 20 # seconds\nthreshold 3").unwrap();
    let mut source = Source::new(0);
    let mut at = |port, second| source.note(service(port), &limits.limit, second * SECOND);
    // Ports with different bits.
    let ports = [1, 2, 3, 4].map(|n| service(n).unwrap());
    assert!(ports.iter().all(|bit| ports.iter().filter(|it| *it == bit).count() == 1));
    assert!(at(1, 0) && at(2, 0) && at(3, 0));
    assert!(at(4, 10), "another window");
    assert!(at(1, 11) && at(2, 12));
    assert!(!at(3, 13), "the fourth");
    assert!(!at(1, 32));
    assert!(at(1, 33));
}

#[test]
fn what_is_not_understood_passes_unless_its_source_is_a_scanner() {
    let mut sources = cora::testing::table();
    let mut alarms = cora::testing::replica::<Alarms>();
    let limits = Limits::configure("threshold 1").unwrap();
    let mut send = |mut frame: Vec<u8>| {
        let mut packet = Packet::new(&mut frame, Meta::default());
        watch(&mut packet, &mut sources, &mut alarms, &limits)
    };
    let (scanner, target) = ([198, 51, 100, 1], [10, 0, 0, 1]);
    let gre = || cora::testing::ipv4(scanner, target, 64, 47, &[0; 24]);
    let mut lldp = vec![0; 60];
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    for frame in [gre(), lldp.clone(), vec![0; 5]] {
        assert_eq!(send(frame), Transmit);
    }
    let echo = |kind, to| {
        cora::testing::ipv4(scanner, to, 64, protocol::ICMP, &[kind, 0, 0, 0, 0, 7, 0, 1])
    };
    // Answers to others' pings are no tries.
    assert!((0..50).all(|host| send(echo(0, [10, 0, 0, host])) == Transmit));
    assert!((0..50).any(|host| send(echo(8, [10, 0, 0, host])) == Drop(SCANNER)));
    assert_eq!(send(gre()), Drop(SCANNER), "all that it sends");
    assert_eq!(send(lldp), Transmit);
}

#[test]
fn faults_are_told() {
    for (text, fault) in [
        ("window", "a line is"),
        ("windows 3", "a line is"),
        ("window 601", "from 1 to 600"),
        ("block 0", "from 1 to 600"),
        ("threshold 501", "from 1 to 500"),
        ("threshold many", "whole number"),
    ] {
        let told = Limits::configure(text).map(|_| ()).unwrap_err();
        assert!(told.contains(fault), "{text}: {told}");
    }
}
