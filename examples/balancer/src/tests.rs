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

/// Shares by weights, whatever they are together.
fn shares_of(weights: &[u8]) -> Vec<usize> {
    let mut text = String::from("service 192.0.2.80\n");
    for (host, weight) in (1..).zip(weights) {
        text += &format!("backend 10.1.0.{host} weight {weight}\n");
    }
    let backends = Backends::configure(&text).unwrap();
    let count = |number| backends.slots.iter().filter(|slot| usize::from(**slot) == number).count();
    (0..weights.len()).map(count).collect()
}

#[test]
fn shares_are_proportional_and_nobody_is_left_out() {
    let mut mixed = [0_u8; MOST_BACKENDS];
    for (number, weight) in (0..).zip(&mut mixed) {
        *weight = (number * 37 % 256) as u8;
    }
    let mut one_small = [255; MOST_BACKENDS];
    one_small[9] = 1;
    let mut one_large = [1; MOST_BACKENDS];
    one_large[5] = 255;
    let all: [&[u8]; 7] = [
        &[255; MOST_BACKENDS],
        &[1; MOST_BACKENDS],
        &mixed,
        &one_small,
        &one_large,
        &[1, 255],
        &[7],
    ];
    for weights in all {
        let shares = shares_of(weights);
        assert_eq!(shares.iter().sum::<usize>(), SLOTS, "{weights:?}");
        let total: usize = weights.iter().map(|weight| usize::from(*weight)).sum();
        for (weight, share) in weights.iter().zip(shares) {
            let exact = usize::from(*weight) * SLOTS / total;
            assert!(share.abs_diff(exact) <= 1, "{share} slots of weight {weight} in {total}");
            assert_eq!(share > 0, *weight > 0, "{weight} in {total}");
        }
    }
}

/// Where a frame goes.
fn handled(
    frame: &mut [u8],
    pins: &mut Table<Pin>,
    backends: &Backends,
) -> Result<Address, Verdict> {
    let mut packet = Packet::new(frame, Meta::default());
    match balancer(&mut packet, pins, backends) {
        Ok(_) => Ok(packet.destination().unwrap_or_default()),
        stopped => Err(stopped),
    }
}

const CLIENT: [u8; 4] = [198, 51, 100, 9];
const SERVICE: [u8; 4] = [192, 0, 2, 80];

#[test]
fn what_is_not_for_the_service_passes_whatever_it_is() {
    let (backends, mut pins) = (Backends::default(), cora::testing::table());
    let mut fragment = frame(CLIENT, [192, 0, 2, 9], [1, 2]);
    fragment[20..22].copy_from_slice(&[0x20, 4]);
    let sum = checksum::internet(&[&fragment[14..24], &[0, 0], &fragment[26..34]].concat());
    fragment[24..26].copy_from_slice(&sum.to_be_bytes());
    let mut lldp = vec![0; 60];
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    for frame in [
        fragment,
        lldp,
        cora::testing::ipv4(CLIENT, [192, 0, 2, 9], 64, 47, &[0; 24]),
        cora::testing::ipv4(CLIENT, [224, 0, 0, 5], 1, 89, &[0; 24]),
        vec![0; 3],
    ] {
        let mut left = frame.clone();
        assert!(handled(&mut left, &mut pins, &backends).is_ok(), "{frame:?}");
        assert_eq!(left, frame);
    }
    let mut gre = cora::testing::ipv4(CLIENT, SERVICE, 64, 47, &[0; 24]);
    assert_eq!(handled(&mut gre, &mut pins, &backends), Err(Drop(NoFlow)));
}

/// A segment of the client or of its backend.
fn segment(from: [u8; 4], to: [u8; 4], ports: [u16; 2], flags: u8) -> Vec<u8> {
    let mut frame = frame(from, to, ports);
    frame[47] = flags;
    frame
}

#[test]
fn a_connection_that_is_over_binds_no_new_one() {
    let before = Backends::default();
    let (out, back) = ([1_000, 443], [443, 1_000]);
    for end in [&[(false, 0x14)][..], &[(true, 0x11), (false, 0x11), (true, 0x10)]] {
        let mut pins = cora::testing::table();
        let first = handled(&mut segment(CLIENT, SERVICE, out, 2), &mut pins, &before).unwrap();
        let host = first.as_v4().unwrap();
        let without = format!(
            "service 192.0.2.80\n{}",
            (1..=4)
                .filter(|number| *number != host[3])
                .map(|number| format!("backend 10.1.0.{number}\n"))
                .collect::<String>()
        );
        let after = Backends::configure(&without).unwrap();
        for (client, flags) in [(false, 0x12), (true, 0x10)] {
            let mut sent = if client {
                segment(CLIENT, SERVICE, out, flags)
            } else {
                segment(host, CLIENT, back, flags)
            };
            handled(&mut sent, &mut pins, &after).unwrap();
        }
        let syn = || segment(CLIENT, SERVICE, out, 2);
        assert_eq!(handled(&mut syn(), &mut pins, &after), Ok(first), "it is open");
        for (client, flags) in end {
            let mut sent = if *client {
                segment(CLIENT, SERVICE, out, *flags)
            } else {
                segment(host, CLIENT, back, *flags)
            };
            handled(&mut sent, &mut pins, &after).unwrap();
        }
        let mut late = segment(CLIENT, SERVICE, out, 0x10);
        assert_eq!(handled(&mut late, &mut pins, &after), Ok(first), "what is on its way");
        let next = handled(&mut syn(), &mut pins, &after).unwrap();
        assert!(next != first && after.all().contains(&next));
        assert_eq!(handled(&mut syn(), &mut pins, &after), Ok(next), "it stays there");
        // Its answers are the service's, those of the old backend are not.
        let answer = |host| segment(host, CLIENT, back, 0x12);
        let source = |mut sent: Vec<u8>, pins: &mut _| {
            handled(&mut sent, pins, &after).unwrap();
            Packet::new(&mut sent, Meta::default()).source().unwrap()
        };
        assert_eq!(source(answer(next.as_v4().unwrap()), &mut pins), Address::v4(SERVICE));
        assert_eq!(source(answer(host), &mut pins), first);
    }
}

#[test]
fn what_opens_nothing_is_not_pinned() {
    let (backends, mut pins) = (Backends::default(), cora::testing::table());
    for flags in [0, 4, 0x12, 0x11, 3] {
        let sent = handled(&mut segment(CLIENT, SERVICE, [1, 443], flags), &mut pins, &backends);
        assert_eq!(sent, Err(Drop(BadTcpState)), "{flags:#x}");
    }
    let about = |kind| {
        let quoted = cora::testing::udp((SERVICE, 443), (CLIENT, 7), b"data");
        let message = [&[kind, 4, 0, 0, 0, 0, 0, 0], &quoted[14..]].concat();
        cora::testing::ipv4([203, 0, 113, 1], SERVICE, 64, protocol::ICMP, &message)
    };
    let whose = backends.choose(FiveTuple {
        source: Address::v4(CLIENT),
        destination: Address::v4(SERVICE),
        source_port: 7,
        destination_port: 443,
        protocol: protocol::UDP,
    });
    assert_eq!(handled(&mut about(3), &mut pins, &backends), Ok(whose.unwrap()));
    assert_eq!(handled(&mut about(5), &mut pins, &backends), Err(Drop(IcmpRedirect)));
    let mut from_nowhere = cora::testing::udp(([127, 0, 0, 1], 7), (SERVICE, 443), b"");
    assert_eq!(handled(&mut from_nowhere, &mut pins, &backends), Err(Drop(MartianSource)));
    let mut first = segment(CLIENT, SERVICE, [1, 443], 2);
    let flow = Packet::new(&mut first, Meta::default()).five_tuple().unwrap();
    assert!(!pins.contains(&flow));
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
        ("service 192.0.2.81", "two `service` lines"),
    ] {
        let text = format!("service 192.0.2.80\n{line}\n");
        assert_eq!(Backends::configure(&text).err(), Some(why), "{line}");
    }
}
