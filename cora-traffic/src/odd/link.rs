//! Ethernet: runts, tags, other types, lengths.

use super::{Collection, path, put, v4};
use crate::wire;

const IPV4: u16 = 0x0800;

/// EtherTypes with their names in the collection.
const TYPES: [(&str, u16); 16] = [
    ("zero", 0),
    ("length-46", 46),
    ("length-1500", 1_500),
    ("unassigned-0x05ff", 0x05ff),
    ("xns-0x0600", 0x0600),
    ("rarp", 0x8035),
    ("appletalk", 0x809b),
    ("pause", 0x8808),
    ("mpls", 0x8847),
    ("pppoe", 0x8864),
    ("jumbo-llc", 0x8870),
    ("eapol", 0x888e),
    ("lldp", 0x88cc),
    ("macsec", 0x88e5),
    ("ptp", 0x88f7),
    ("0xffff", 0xffff),
];

pub(super) fn collect(odd: &mut Collection) {
    let plain = v4::plain();
    odd.cut("ethernet-cut-at", &plain, 0..15);
    for (name, kind) in TYPES {
        odd.changed(format!("ethertype-{name}"), &plain, |frame| put(frame, 12, kind));
    }
    llc(odd);
    arp(odd);
    tags(odd);
    odd.changed("ipv4-type-around-ipv6", &wire::frame(&path(true), wire::UDP, &[7; 16]), |frame| {
        put(frame, 12, IPV4);
    });
    odd.changed("ipv6-type-around-ipv4", &plain, |frame| put(frame, 12, 0x86dd));
    odd.changed("to-everybody", &plain, |frame| frame[..6].fill(0xff));
    odd.changed("from-everybody", &plain, |frame| frame[6..12].fill(0xff));
    odd.changed("ethernet-of-zeros", &plain, |frame| frame[..12].fill(0));
    for padding in [1, 4, 30, 1_000] {
        let mut padded = plain.clone();
        padded.resize(plain.len() + padding, 0xa5);
        odd.add(format!("padding-of-{padding}"), padded);
    }
    for length in [1_514, 1_518, 9_014, 9_216, 16_128, 65_549] {
        odd.add(format!("frame-of-{length}"), v4::long(length));
    }
    let mut beyond = v4::long(65_549);
    beyond.push(0);
    odd.add("frame-of-65550", beyond);
}

/// Adds IEEE 802.3 frames: a length, and logical link control behind it.
fn llc(odd: &mut Collection) {
    let packet = &v4::plain()[14..];
    let frame = |control: &[u8], payload: &[u8]| {
        let mut bytes = v4::plain()[..12].to_vec();
        bytes.extend(((control.len() + payload.len()) as u16).to_be_bytes());
        bytes.extend(control);
        bytes.extend(payload);
        bytes
    };
    odd.add("llc-snap-ipv4", frame(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet));
    odd.add("llc-snap-cisco", frame(&[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0], &[1; 30]));
    odd.add("llc-ip", frame(&[6, 6, 3], packet));
    odd.add("llc-spanning-tree", frame(&[0x42, 0x42, 3], &[0; 35]));
    odd.add("llc-raw-ipx", frame(&[0xff, 0xff], &[0; 28]));
    odd.add("llc-cut", frame(&[0xaa], &[]));
}

fn arp(odd: &mut Collection) {
    let mut request = v4::plain()[..12].to_vec();
    request.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    request.extend([2, 0, 0, 0, 1, 7, 10, 0, 0, 7, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
    odd.add("arp-request", request.clone());
    let with = |at: usize, byte: u8| {
        let mut other = request.clone();
        other[at] = byte;
        other
    };
    odd.add("arp-answer", with(21, 2));
    odd.add("arp-of-unknown-kind", with(21, 77));
    odd.add("arp-of-long-addresses", with(18, 255));
    odd.cut("arp-cut-at", &request, 20..22);
}

fn tags(odd: &mut Collection) {
    let plain = v4::plain();
    let tagged = |tags: &[(u16, u16)]| {
        let mut bytes = plain[..12].to_vec();
        for (kind, control) in tags {
            bytes.extend(kind.to_be_bytes());
            bytes.extend(control.to_be_bytes());
        }
        bytes.extend(&plain[12..]);
        bytes
    };
    let (customer, service, old) = (0x8100, 0x88a8, 0x9100);
    odd.add("vlan-100", tagged(&[(customer, 100)]));
    odd.add("vlan-0-priority-7", tagged(&[(customer, 0xe000)]));
    odd.add("vlan-4095-drop-eligible", tagged(&[(customer, 0x1fff)]));
    odd.add("vlan-service-alone", tagged(&[(service, 5)]));
    odd.add("vlan-0x9100-alone", tagged(&[(old, 5)]));
    odd.add("vlan-0x9200", tagged(&[(0x9200, 5)]));
    odd.add("vlan-two", tagged(&[(service, 10), (customer, 20)]));
    odd.add("vlan-two-customers", tagged(&[(customer, 10), (customer, 20)]));
    odd.add("vlan-two-0x9100", tagged(&[(old, 10), (customer, 20)]));
    odd.add("vlan-inside-out", tagged(&[(customer, 10), (service, 20)]));
    odd.add("vlan-three", tagged(&[(service, 1), (service, 2), (customer, 3)]));
    for count in [4, 5, 12] {
        odd.add(format!("vlan-times-{count}"), tagged(&vec![(customer, 7); count]));
    }
    let two = tagged(&[(service, 10), (customer, 20)]);
    odd.cut("vlan-cut-at", &two, 15..23);
    let mut arp = tagged(&[(customer, 9)]);
    put(&mut arp, 16, 0x0806);
    odd.add("vlan-around-arp", arp);
    let mut length = tagged(&[(customer, 9)]);
    put(&mut length, 16, 40);
    odd.add("vlan-around-length", length);
}
