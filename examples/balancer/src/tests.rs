//! Backends as the control plane makes them: shares, draining, and who moves when one goes.

use super::*;

const V4: &str =
    "service 192.0.2.80\nbackend 10.1.0.1\nbackend 10.1.0.2 weight 3\nbackend 10.1.0.3 draining\n";

fn flow(number: u16) -> FiveTuple {
    FiveTuple {
        source: Address::v4([198, 51, 100, (number >> 8) as u8]),
        destination: Address::v4([192, 0, 2, 80]),
        source_port: number,
        destination_port: 443,
        protocol: protocol::TCP,
    }
}

/// An Ethernet frame with the beginning of a TCP segment, from there to there.
fn frame(from: [u8; 4], to: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
    let mut segment = [0; 20];
    segment[..4].copy_from_slice(ports.map(u16::to_be_bytes).as_flattened());
    segment[12..14].copy_from_slice(&[0x50, 0x10]);
    cora::testing::ipv4(from, to, 64, protocol::TCP, &segment)
}

/// Where a packet of the client at this port goes.
fn sent_to(port: u16, pins: &mut Table<Pin>, backends: &Backends) -> Result<Address, Verdict> {
    let mut frame = frame([198, 51, 100, 9], [192, 0, 2, 80], [port, 443]);
    let mut packet = Packet::new(&mut frame, Meta::default());
    match balancer(&mut packet, pins, backends) {
        Ok(_) => Ok(packet.destination().unwrap()),
        stopped => Err(stopped),
    }
}

#[test]
fn shares_follow_weights_and_who_drains_gets_none() {
    let backends = Backends::configure(V4).unwrap();
    let count = |number: u8| backends.slots.iter().filter(|slot| **slot == number).count();
    assert_eq!(count(NOBODY), 0);
    assert_eq!(count(2), 0, "it drains");
    let (one, three) = (count(0), count(1));
    assert!(three.abs_diff(3 * one) <= 3, "{one} slots of weight 1, {three} of weight 3");
    for number in 0..1_000 {
        assert_ne!(backends.choose(flow(number)).unwrap(), Address::v4([10, 1, 0, 3]));
    }
}

#[test]
fn equal_weights_are_those_of_no_weight() {
    let plain = "service 2001:db8::80\nbackend 2001:db8:1::1\nbackend 2001:db8:1::2\n";
    let weighed = plain.replace("::1\n", "::1 weight 1\n").replace("::2\n", "::2 weight 1\n");
    let (plain, weighed) =
        (Backends::configure(plain).unwrap(), Backends::configure(&weighed).unwrap());
    assert!(plain.slots == weighed.slots && plain.slots.contains(&0) && plain.slots.contains(&1));
}

#[test]
fn what_is_pinned_to_a_draining_backend_stays_and_nothing_new_comes() {
    let before = Backends::configure(&V4.replace(" draining", "")).unwrap();
    let after = Backends::configure(V4).unwrap();
    let third = Address::v4([10, 1, 0, 3]);
    let mut pins = cora::testing::table();
    let old: Vec<u16> =
        (1..200).filter(|port| sent_to(*port, &mut pins, &before) == Ok(third)).collect();
    assert!(old.len() > 10, "{old:?}");
    for port in &old {
        assert_eq!(sent_to(*port, &mut pins, &after), Ok(third), "pinned");
    }
    assert!((200..400).all(|port| sent_to(port, &mut pins, &after) != Ok(third)));
}

#[test]
fn few_flows_move_when_a_backend_drains() {
    let all: String = (1..=10).map(|host| format!("backend 10.1.0.{host}\n")).collect();
    let text = format!("service 192.0.2.80\n{all}");
    let before = Backends::configure(&text).unwrap();
    let after = Backends::configure(&text.replace("10.1.0.4\n", "10.1.0.4 draining\n")).unwrap();
    let gone = Address::v4([10, 1, 0, 4]);
    let (mut stayed, mut moved) = (0, 0);
    for number in 0..10_000 {
        let (then, now) =
            (before.choose(flow(number)).unwrap(), after.choose(flow(number)).unwrap());
        if then != gone {
            stayed += u32::from(then == now);
            moved += u32::from(then != now);
        }
    }
    // Maglev moves a few beside those that have to (section 5.3 of the paper).
    assert!(moved * 10 < stayed, "{moved} moved, {stayed} stayed");
}

#[test]
fn with_all_draining_new_flows_have_no_backend() {
    let backends = Backends::configure("service 192.0.2.80\nbackend 10.1.0.1 draining\n").unwrap();
    let mut pins = cora::testing::table();
    assert_eq!(sent_to(7, &mut pins, &backends), Err(Drop(NO_BACKEND)));
}

#[test]
fn what_is_no_line_is_refused() {
    for (line, why) in [
        ("backend 10.1.0.1 weight", LINE),
        ("backend 10.1.0.1 weight 300", "a weight is a number from 0 to 255"),
        ("backend 10.1.0.1 draining now", LINE),
        ("backend 10.1.0.1 weight 1 draining", LINE),
        ("service 192.0.2.80 draining", LINE),
        ("backend", LINE),
        ("backend 10.1.0.1\nbackend 10.1.0.1", "a backend stands there twice"),
    ] {
        let text = format!("service 192.0.2.80\n{line}\n");
        assert_eq!(Backends::configure(&text).err(), Some(why), "{line}");
    }
}
