//! When a host has opened too many.

use super::*;

#[test]
fn a_window_has_room_for_so_many() {
    let limit = Limit::configure("connections 3\nwindow 10 # seconds\n").unwrap();
    let Limit { connections, window } = limit;
    let mut client = Client { since: SECOND, opened: 0, refused: 0 };
    let opened = [0; 5].map(|_| client.open(connections, window, SECOND));
    assert_eq!(opened, [true, true, true, false, false]);
    assert!(!client.open(connections, window, 11 * SECOND - 1));
    assert!(client.open(connections, window, 11 * SECOND), "the next window");
    assert_eq!((client.opened, client.refused), (1, 3));
}

/// An Ethernet frame with a UDP datagram from inside to this port.
fn frame(port: u8) -> Vec<u8> {
    let datagram = [1, 0, 0, port, 0, 8, 0, 0];
    cora::testing::ipv4([10, 0, 0, 1], [10, 9, 9, 9], 64, protocol::UDP, &datagram)
}

#[test]
fn what_is_open_goes_on() {
    let limits = Limit { connections: 1, ..Limit::default() };
    let (mut connections, mut clients) = (cora::testing::table(), cora::testing::table());
    let mut asked = cora::testing::replica::<Asked>();
    let mut send = |port| {
        let mut frame = frame(port);
        let mut packet = Packet::new(&mut frame, Meta::default());
        limit(&mut packet, &mut connections, &mut clients, &mut asked, &limits)
    };
    assert_eq!([1, 2, 1, 2].map(&mut send), [Transmit, Drop(TOO_MANY), Transmit, Drop(TOO_MANY)]);
    let refused: Vec<_> = asked.refused.iter().map(|(_, refused)| refused).collect();
    assert_eq!(refused, [2]);
    assert_eq!(asked.connections.estimate(&SourceAddress(Address::v4([10, 0, 0, 1]))), 3);
}

#[test]
fn what_opens_nothing_does_not_count() {
    let limits = Limit { connections: 1, ..Limit::default() };
    let (mut connections, mut clients) = (cora::testing::table(), cora::testing::table());
    let mut asked = cora::testing::replica::<Asked>();
    let mut send = |mut frame: Vec<u8>| {
        let mut packet = Packet::new(&mut frame, Meta::default());
        limit(&mut packet, &mut connections, &mut clients, &mut asked, &limits)
    };
    let segment = |flags| {
        let segment = TcpSegment { flags: TcpFlags(flags), ..TcpSegment::default() };
        cora::testing::tcp(([10, 0, 0, 1], 1), ([10, 9, 9, 9], 2), &segment)
    };
    for flags in [0, 4, 0x12, 0x11, 3] {
        assert_eq!(send(segment(flags)), Drop(BadTcpState), "{flags:#x}");
    }
    let echo = |kind| {
        let message = [kind, 0, 0, 0, 0, 7, 0, 1];
        cora::testing::ipv4([10, 0, 0, 1], [10, 9, 9, 9], 64, protocol::ICMP, &message)
    };
    assert_eq!(send(echo(0)), Drop(NotAllowed));
    assert_eq!(send(segment(2)), Transmit);
    assert_eq!(send(echo(8)), Drop(TOO_MANY));
}

#[test]
fn faults_are_told() {
    for (text, fault) in [
        ("connections", "a line is"),
        ("limit 3", "a line is"),
        ("window 601", "from 1 to 600"),
        ("connections -1", "whole number"),
    ] {
        let told = Limit::configure(text).map(|_| ()).unwrap_err();
        assert!(told.contains(fault), "{text}: {told}");
    }
}
