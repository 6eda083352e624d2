//! The packet that an ICMP error quotes.

use super::{Collection, IP, path, put, sum_header};
use crate::wire::{self, ACK, Path, Segment, TCP, UDP};

/// Makes a packet of an inside host, without its Ethernet header.
fn sent(v6: bool) -> Vec<u8> {
    let path = path(v6);
    let segment =
        Segment { flags: ACK, sequence: 7, acknowledgement: 8, options: &[], payload: &[1; 12] };
    wire::frame(&path, TCP, &wire::tcp(&path, &segment))[IP..].to_vec()
}

/// Makes an error of this type about `quote`, from the quote's destination.
fn error(v6: bool, kind: u8, quote: &[u8]) -> Vec<u8> {
    let back = path(v6).back();
    let message = wire::icmp(&back, [kind, 0], [0; 4], quote);
    wire::frame(&back, wire::icmp_protocol(&back), &message)
}

pub(super) fn collect(odd: &mut Collection, v6: bool) {
    let ip = if v6 { "ipv6" } else { "ipv4" };
    let (kind, header) = if v6 { (1, 40) } else { (3, 20) };
    let sent = sent(v6);
    for length in (0..header + 21).chain([sent.len()]) {
        odd.add(format!("{ip}-error-quotes-{length}"), error(v6, kind, &sent[..length]));
    }
    let kinds: &[u8] = if v6 { &[2, 3, 4, 5] } else { &[4, 5, 11, 12] };
    for kind in kinds {
        odd.add(format!("{ip}-error-of-type-{kind}"), error(v6, *kind, &sent));
    }
    let mut about = |name: &str, quote: &[u8]| {
        odd.add(format!("{ip}-error-about-{name}"), error(v6, kind, quote));
    };
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut quote = sent.clone();
        change(&mut quote);
        sum_header(&mut quote, 0);
        quote
    };
    about("an-error", &error(v6, kind, &sent)[IP..]);
    about("the-other-version", &self::sent(!v6));
    about("version-0", &changed(&|quote| quote[0] &= 15));
    about("a-ping", &ping(v6));
    about("a-datagram", &datagram(v6, true));
    about("a-datagram-without-checksum", &datagram(v6, false));
    about("an-unknown-protocol", &wire::frame(&path(v6), 47, &[5; 24])[IP..]);
    about("port-zero", &changed(&|quote| quote[header..header + 4].fill(0)));
    about("another-host", &changed(&|quote| quote[header - 5] ^= 0x40));
    about("options", &wire::frame(&Path { options: true, ..path(v6) }, UDP, &[7; 16])[IP..]);
    about("length-0", &changed(&|quote| put(quote, if v6 { 4 } else { 2 }, 0)));
    about("length-0xffff", &changed(&|quote| put(quote, if v6 { 4 } else { 2 }, 0xffff)));
    if v6 {
        let endless = [60, 0, 1, 4, 0, 0, 0, 0].repeat(30);
        about("endless-headers", &wire::frame(&path(true), 60, &endless)[IP..]);
        about(
            "a-later-fragment",
            &wire::frame(&path(true), 44, &[6, 0, 1, 0, 0, 0, 0, 1, 9, 9])[IP..],
        );
        about(
            "a-first-fragment",
            &wire::frame(&path(true), 44, &[6, 0, 0, 1, 0, 0, 0, 1, 9, 9, 8, 8, 7, 7, 6, 6])[IP..],
        );
    } else {
        for words in [0, 3, 4, 6, 15] {
            about(
                &format!("a-header-of-{words}-words"),
                &changed(&|quote| quote[0] = 0x40 | words),
            );
        }
        about("a-first-fragment", &changed(&|quote| put(quote, 6, 0x2000)));
        about("a-later-fragment", &changed(&|quote| put(quote, 6, 9)));
        let mut wrong = sent.clone();
        put(&mut wrong, 10, 0x1234);
        about("a-wrong-checksum", &wrong);
    }
}

fn ping(v6: bool) -> Vec<u8> {
    let path = path(v6);
    let kind = if v6 { 128 } else { 8 };
    let message = wire::icmp(&path, [kind, 0], [0, 77, 0, 1], &[4; 11]);
    wire::frame(&path, wire::icmp_protocol(&path), &message)[IP..].to_vec()
}

fn datagram(v6: bool, summed: bool) -> Vec<u8> {
    let path = path(v6);
    wire::frame(&path, UDP, &wire::udp(&path, &[3; 9], summed))[IP..].to_vec()
}
