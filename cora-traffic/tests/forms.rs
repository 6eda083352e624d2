//! Every form of ranked traffic: sound frames as another parser reads them, the same everywhere,
//! and what its kind of program looks for.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use cora_traffic::pcap::Writer;
use cora_traffic::view::{View, word};
use cora_traffic::{Form, Ranked};

mod sound;

const UDP: u8 = 17;

fn ranked(name: &str, form: Form) -> Ranked {
    Ranked { form, ..name.parse().unwrap() }
}

fn frames(name: &str, form: Form, packets: usize) -> Vec<Vec<u8>> {
    ranked(name, form).frames(1).take(packets).map(|frame| frame.bytes).collect()
}

/// Returns what the tunnel of a frame carries, as a frame, and whether there is one.
fn inner(frame: &[u8]) -> Option<Vec<u8>> {
    let view = View::of(frame).filter(|view| view.protocol == UDP)?;
    let data = &frame[view.transport + 8..view.end];
    match word(frame, view.transport + 2)? {
        4_789 => {
            assert_eq!(data[..8], [8, 0, 0, 0, 0, 0, 42, 0]);
            Some(data[8..].to_vec())
        }
        2_152 => {
            assert_eq!(data[..2], [0x30, 255]);
            assert_eq!(usize::from(word(data, 2)?), data.len() - 8);
            let kind: [u8; 2] = if data[8] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
            Some([&frame[..12], &kind, &data[8..]].concat())
        }
        _ => None,
    }
}

/// Returns the FNV-1a hash of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn names_are_read_as_they_are_written() {
    let names: BTreeSet<&str> = Form::ALL.map(Form::name).into();
    assert_eq!(names.len(), Form::ALL.len());
    let error = "tcp".parse::<Form>().unwrap_err().to_string();
    for form in Form::ALL {
        assert_eq!(form.name().parse::<Form>().unwrap(), form);
        assert!(error.contains(form.name()), "{form} is not offered: {error}");
    }
}

#[test]
fn frames_are_sound_outside_and_inside_of_tunnels() {
    for form in Form::ALL {
        for bytes in [64, 79, 350, 1_450] {
            let name = format!("zipf:flows=400,s=1.1,bytes={bytes},churn=0.01");
            let mut tunnels = 0;
            for (number, frame) in frames(&name, form, 3_000).iter().enumerate() {
                let fails = |why| -> () { panic!("{form} {number}: {why}: {frame:02x?}") };
                sound::check(frame).unwrap_or_else(fails);
                if let Some(inner) = inner(frame) {
                    tunnels += 1;
                    sound::check(&inner).unwrap_or_else(fails);
                    assert_eq!(inner.len(), bytes, "{form}");
                }
            }
            let is_tunnelled = matches!(form, Form::Gtp | Form::Tunnelled);
            assert_eq!(tunnels > 1_000, is_tunnelled, "{form}: {tunnels} in tunnels");
        }
    }
}

#[test]
fn frames_are_as_long_as_they_should_be() {
    for form in Form::ALL.into_iter().filter(|form| *form != Form::Handshakes) {
        for bytes in [64, 350, 1_514] {
            let name = format!("uniform:flows=40,bytes={bytes}");
            for frame in frames(&name, form, 1_000).iter().skip(300) {
                if inner(frame).is_none() && frame[47] & 8 != 0 || form != Form::Connections {
                    let length = inner(frame).unwrap_or_else(|| frame.clone()).len();
                    assert_eq!(length, bytes, "{form}");
                }
            }
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_octets_everywhere() {
    let hashes = Form::ALL.map(|form| {
        let mut capture = Vec::new();
        let name = "zipf:flows=300,s=1.1,bytes=200,churn=0.1";
        ranked(name, form).write(7, 3_000, &mut capture).unwrap();
        format!("{form} {:016x}", hash(&capture))
    });
    let expected: Vec<&str> = include_str!("forms/octets.txt").lines().collect();
    assert_eq!(hashes.to_vec(), expected);
}

/// Returns the addresses and ports that packets come from and go to, by protocol.
fn ends(frames: &[Vec<u8>]) -> Vec<(u8, IpAddr, u16, IpAddr, u16)> {
    frames.iter().filter_map(|frame| View::of(frame)?.tuple(frame)).collect()
}

#[test]
fn one_way_forms_have_packets_of_clients_alone() {
    for (form, prefix) in [
        (Form::Outward, [10, 0]),
        (Form::InsideService, [10, 0]),
        (Form::Service, [100, 64]),
        (Form::Ipv6, [0xfd, 0]),
    ] {
        for (protocol, from, _, to, port) in ends(&frames("uniform:flows=500", form, 2_000)) {
            let first = match from {
                IpAddr::V4(from) => from.octets()[..2].to_vec(),
                IpAddr::V6(from) => from.octets()[..2].to_vec(),
            };
            assert_eq!((protocol, first, port), (UDP, prefix.to_vec(), 443), "{form}");
            match (form, to) {
                (Form::Ipv6, IpAddr::V6(to)) => {
                    assert_eq!(to.segments()[..6], [0x64, 0xff9b, 0, 0, 0, 0]);
                }
                (Form::Service | Form::InsideService, _) => assert_eq!(to, Form::SERVICE),
                _ => assert!(to.is_ipv4()),
            }
        }
    }
}

/// A program may divide its flows by bits 1 to 8 of the client's port, into 256 parts.
#[test]
fn clients_ports_are_spread_evenly_and_flows_stay_apart() {
    for form in [Form::Outward, Form::Service, Form::Ipv6, Form::InsideService] {
        let mut frames = ranked("uniform:flows=20000", form).frames(1);
        let all = frames.open(1) as usize;
        let flows: Vec<Vec<u8>> = frames.take(all).map(|frame| frame.bytes).collect();
        let ends = ends(&flows);
        let apart: BTreeSet<_> = ends.iter().collect();
        assert_eq!((apart.len(), all), (20_000, 20_000), "{form}");
        let mut parts = [0_u32; 256];
        for (_, _, port, ..) in &ends {
            parts[usize::from(port >> 1 & 255)] += 1;
        }
        let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
        assert!(*least > 30 && *most < 128, "{form}: {least} to {most}");
        let half: u32 = parts[..128].iter().sum();
        assert!((9_600..=10_400).contains(&half), "{form}: {half} of 20,000");
    }
}

#[test]
fn each_flow_opens_in_turn_before_frames_are_drawn() {
    for form in Form::ALL {
        let mut frames = ranked("zipf:flows=300,s=1.1", form).frames(1);
        let first = frames.open(4) as usize;
        let opening: Vec<Vec<u8>> = frames.by_ref().take(first).map(|frame| frame.bytes).collect();
        let inner = |frame: &Vec<u8>| inner(frame).unwrap_or_else(|| frame.clone());
        let mut flows = BTreeMap::<_, u32>::new();
        for (protocol, from, from_port, to, to_port) in
            ends(&opening.iter().map(inner).collect::<Vec<_>>())
        {
            let (one, other) = ((from, from_port), (to, to_port));
            *flows.entry((protocol, one.min(other), one.max(other))).or_default() += 1;
        }
        assert_eq!(flows.len(), 300, "{form}");
        assert!(flows.values().all(|packets| *packets == 4), "{form}");
        assert!(frames.next().is_some());
    }
}

#[test]
fn an_answer_of_the_dns_repeats_its_question() {
    let mut asked = BTreeMap::new();
    let mut answered = 0;
    for frame in frames("uniform:flows=50,bytes=64", Form::Dns, 4_000) {
        let view = View::of(&frame).unwrap();
        let (_, from, from_port, to, to_port) = view.tuple(&frame).unwrap();
        let message = &frame[view.transport + 8..view.end];
        let is_answer = message[2] & 0x80 != 0;
        assert_eq!(word(message, 4), Some(1), "questions");
        let question = (word(message, 0), message[12..22].to_vec());
        if is_answer {
            assert_eq!(from_port, 53);
            assert_eq!(asked.remove(&(to, to_port, from)), Some(question));
            answered += 1;
        } else {
            assert_eq!(to_port, 53);
            assert_eq!(asked.insert((from, from_port, to), question), None);
        }
    }
    assert!((1_950..=2_000).contains(&answered), "{answered}");
}

/// Returns the place behind a name of a message of the DNS.
fn behind_name(message: &[u8], mut at: usize) -> usize {
    while message[at] != 0 {
        if message[at] >= 0xc0 {
            assert_eq!(word(message, at), Some(0xc00c), "the question's name is the first");
            return at + 2;
        }
        at += 1 + usize::from(message[at]);
    }
    at + 1
}

#[test]
fn messages_of_the_dns_are_whole() {
    for bytes in [64, 70, 76, 79, 350, 1_500] {
        for frame in frames(&format!("uniform:flows=20,bytes={bytes}"), Form::Dns, 100) {
            let view = View::of(&frame).unwrap();
            let message = &frame[view.transport + 8..view.end];
            let records: u16 = [6, 8, 10].iter().filter_map(|at| word(message, *at)).sum();
            let mut at = behind_name(message, 12) + 4;
            for _ in 0..records {
                let data = behind_name(message, at) + 10;
                let length = usize::from(word(message, data - 2).unwrap());
                // Texts, or options with a header of four octets, fill the record.
                let is_text = word(message, data - 10) == Some(16);
                at = data;
                while at < data + length {
                    let long = || 4 + usize::from(word(message, at + 2).unwrap());
                    at += if is_text { 1 + usize::from(message[at]) } else { long() };
                }
                assert_eq!(at, data + length, "{bytes}");
            }
            assert_eq!((at, usize::from(records > 0)), (message.len(), (bytes > 76).into()));
        }
    }
}

#[test]
fn bearers_are_those_of_the_tunnels() {
    let of = ranked("uniform:flows=400", Form::Gtp);
    let bearers = of.bearers();
    let rows: BTreeMap<IpAddr, Vec<&str>> = bearers
        .lines()
        .skip(1)
        .map(|line| (line.split(',').next().unwrap().parse().unwrap(), line.split(", ").collect()))
        .collect();
    assert_eq!(rows.len(), 50);
    let (mut up, mut down) = (0, 0);
    for frame in frames("uniform:flows=400", Form::Gtp, 4_000) {
        let outer = View::of(&frame).unwrap();
        let Some(inner) = inner(&frame) else {
            assert!(rows.contains_key(&outer.to), "{}", outer.to);
            down += 1;
            continue;
        };
        let row = &rows[&View::of(&inner).unwrap().from];
        let teid = u32::from_be_bytes(*frame[outer.transport + 12..].first_chunk().unwrap());
        assert_eq!(row[1].parse(), Ok(outer.to));
        assert_eq!(row[2].parse(), Ok(teid));
        assert_eq!(row[3].parse(), Ok(outer.from));
        up += 1;
    }
    assert!(up > 1_800 && down > 1_800, "{up} and {down}");
}

#[test]
fn a_routers_neighbours_tell_their_addresses_first_and_again() {
    let slow = Ranked { rate: 10, ..ranked("uniform:flows=80", Form::Routed) };
    let frames: Vec<_> = slow.frames(1).take(1_000).collect();
    let is_told = |frame: &[u8]| frame[20] == 58 && frame[21] == 255 && frame[54] == 136;
    let told: Vec<u64> =
        frames.iter().filter(|frame| is_told(&frame.bytes)).map(|frame| frame.time).collect();
    // Ten hosts and the router outside.
    assert!(frames[..11].iter().all(|frame| is_told(&frame.bytes)));
    assert!(frames[11].time - frames[10].time >= 300_000_000);
    let seconds = (frames[999].time - frames[0].time) / 1_000_000_000;
    assert!(told.len() as u64 >= 11 * (seconds / 31), "{} in {seconds} s", told.len());
    let macs: BTreeSet<&[u8]> = frames[11..]
        .iter()
        .filter(|frame| !is_told(&frame.bytes))
        .map(|frame| &frame.bytes[..6])
        .collect();
    assert_eq!(Vec::from_iter(macs), [[2, 0, 0x5e, 0, 0x53, 0], [2, 0, 0x5e, 0, 0x53, 1]]);
}

#[test]
fn each_station_has_an_ethernet_address_of_its_own() {
    let mut of = BTreeMap::new();
    for frame in frames("uniform:flows=800", Form::Stations, 5_000) {
        let view = View::of(&frame).unwrap();
        for (address, mac) in [(view.to, &frame[..6]), (view.from, &frame[6..12])] {
            assert_eq!(of.entry(address).or_insert_with(|| mac.to_vec()), mac);
        }
    }
    let macs: BTreeSet<_> = of.values().collect();
    assert_eq!((of.len(), macs.len()), (125, 125), "100 hosts and 25 servers");
}

/// A proxy's answer to a SYN of a capture, with this cookie.
fn answered(syn: &[u8], cookie: u32) -> Vec<u8> {
    let number = u32::from_be_bytes(*syn[38..].first_chunk().unwrap());
    let mut answer = syn.to_vec();
    answer[26..30].copy_from_slice(&syn[30..34]);
    answer[30..34].copy_from_slice(&syn[26..30]);
    answer[34..36].copy_from_slice(&syn[36..38]);
    answer[36..38].copy_from_slice(&syn[34..36]);
    answer[38..42].copy_from_slice(&cookie.to_be_bytes());
    answer[42..46].copy_from_slice(&(number + 1).to_be_bytes());
    answer[47] = 0x12;
    answer
}

#[test]
fn clients_go_on_when_a_proxy_has_answered() {
    let one = ranked("uniform:flows=2,bytes=100", Form::Handshakes);
    let syns: Vec<Vec<u8>> = one.frames(1).take(40).map(|frame| frame.bytes).collect();
    assert!(syns.iter().all(|frame| sound::tcp_flags(frame) == Some(2)));
    // Of the two clients, one is answered.
    let cookie = 0xdead_beef;
    let mut output = Writer::new(Vec::new()).unwrap();
    output.write(0, &answered(&syns[0], cookie)).unwrap();
    let mut frames = one.frames(1);
    frames.heed(&output.finish().unwrap()[..]).unwrap();
    let port = &syns[0][34..36];
    let all: Vec<Vec<u8>> = frames.take(80).map(|frame| frame.bytes).collect();
    let (its, other): (Vec<_>, Vec<_>) =
        all.iter().partition(|frame| frame[34..36] == *port || frame[36..38] == *port);
    assert!(other.iter().all(|frame| sound::tcp_flags(frame) == Some(2)));
    let flags: Vec<u8> = its.iter().filter_map(|frame| sound::tcp_flags(frame)).collect();
    assert_eq!(flags[..7], [0x02, 0x10, 0x12, 0x10, 0x18, 0x18, 0x18]);
    let number =
        |at: usize, from: usize| u32::from_be_bytes(*its[at][from..].first_chunk().unwrap());
    let (client, server) = (number(0, 38), number(2, 38));
    let numbers = |at: usize| [number(at, 38), number(at, 42)];
    assert_eq!(numbers(1), [client + 1, cookie + 1]);
    assert_eq!(numbers(2), [server, client + 1]);
    assert_eq!(numbers(3), [client + 1, cookie + 1]);
    let mut next = [client + 1, server.wrapping_add(1)];
    for (at, frame) in its.iter().enumerate().skip(4) {
        sound::check(frame).unwrap_or_else(|why| panic!("{at}: {why}"));
        let side = usize::from(at % 2 == 0);
        // A client counts the server's octets from the cookie on.
        let heard = [cookie.wrapping_add(next[1].wrapping_sub(server)), next[0]];
        assert_eq!(numbers(at), [next[side], heard[side]], "segment {at}");
        next[side] = next[side].wrapping_add(46);
    }
}
