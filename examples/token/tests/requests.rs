//! Requests with tokens of all kinds, made and signed here, and packets that are none.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use cora::prelude::*;
use cora::testing::{TestTable, at, table};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use token::secret::Secret;
use token::{BAD_TOKEN, Client, NO_TOKEN, authenticate, check};

const KEY: &str = "open sesame";
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 77, 0, 2];

fn secret(text: &str) -> Secret {
    Secret::configure(text).unwrap()
}

fn ours() -> Secret {
    secret("key open sesame\nserver 10.77.0.2:5683")
}

fn hmac(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    hmac.update(bytes);
    hmac.finalize().into_bytes().into()
}

fn base64(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode(bytes, &mut [0; 2_048]).unwrap().to_owned()
}

/// A token with these claims, signed with the key.
fn signed(key: &str, claims: &str) -> String {
    let signed = format!("{}.{}", base64(br#"{"alg":"HS256"}"#), base64(claims.as_bytes()));
    let signature = base64(&hmac(key.as_bytes(), signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn right() -> String {
    signed(KEY, r#"{"sub":"lamp"}"#)
}

/// The head of an item of CBOR, in one to three bytes.
fn head(major: u8, number: usize) -> Vec<u8> {
    match number {
        0..24 => vec![major << 5 | number as u8],
        24..256 => vec![major << 5 | 24, number as u8],
        _ => vec![major << 5 | 25, (number >> 8) as u8, number as u8],
    }
}

fn text(text: &str) -> Vec<u8> {
    [head(3, text.len()), text.as_bytes().to_vec()].concat()
}

/// A map of these pairs, of which the values are items already.
fn map(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let pair = |(name, value): &(&str, Vec<u8>)| [text(name), value.clone()].concat();
    [head(5, pairs.len()), pairs.iter().flat_map(pair).collect()].concat()
}

/// A POST to `/light`, with four bytes of CoAP's own token and two options.
fn post(payload: &[u8]) -> Vec<u8> {
    let head = [0x44, 0x02, 0x12, 0x34, 0xde, 0xad, 0xbe, 0xef];
    [&head[..], b"\xb5light\x11\x3c\xff", payload].concat()
}

fn with_token(token: &str) -> Vec<u8> {
    post(&map(&[("token", text(token)), ("on", vec![0xf5])]))
}

fn checked(payload: &[u8]) -> Result<(), Reason> {
    check(&post(payload), &ours())
}

#[test]
fn a_right_token_passes_wherever_it_stands_in_the_map() {
    let token = text(&right());
    let nested = [head(4, 2), map(&[("token", text("of another map"))]), vec![0xf6]].concat();
    let tagged = [head(6, 1), head(0, 1_000), vec![0xfb; 1], vec![0; 8]].concat();
    assert_eq!(checked(&map(&[("token", token.clone())])), Ok(()));
    assert_eq!(checked(&map(&[("a", nested), ("token", token.clone())])), Ok(()));
    assert_eq!(checked(&[head(5, 2), text("t"), tagged].concat()), Err(NO_TOKEN));
    let bytes = [head(2, 300), vec![0xff; 300]].concat();
    assert_eq!(checked(&map(&[("b", bytes), ("token", token), ("c", vec![0x39, 1, 1])])), Ok(()));
    let long = signed(KEY, &format!(r#"{{"sub":"{}"}}"#, "x".repeat(700)));
    assert_eq!(checked(&map(&[("token", text(&long))])), Ok(()));
}

#[test]
fn each_changed_character_of_a_token_is_found() {
    let right = right();
    for at in 0..right.len() {
        let mut wrong = right.clone().into_bytes();
        // Another character of base64, of which the last one's unused bits are zero, too.
        wrong[at] = if wrong[at] == b'A' { b'E' } else { b'A' };
        let wrong = String::from_utf8(wrong).unwrap();
        assert_eq!(check(&with_token(&wrong), &ours()), Err(BAD_TOKEN), "{at}");
    }
    assert_eq!(check(&with_token(&right), &ours()), Ok(()));
}

#[test]
fn tokens_of_other_keys_and_forms_are_wrong() {
    let right = right();
    let (signed_part, signature) = right.rsplit_once('.').unwrap();
    let mut alias = right.clone().into_bytes();
    // The last character has two bits that are no part of the signature.
    *alias.last_mut().unwrap() += 1;
    let alias = String::from_utf8(alias).unwrap();
    let unsigned = format!("{}.{}.", base64(br#"{"alg":"none"}"#), base64(b"{}"));
    for wrong in [
        signed("another key", r#"{"sub":"lamp"}"#),
        signed("", r#"{"sub":"lamp"}"#),
        String::new(),
        ".".into(),
        signed_part.into(),
        signature.into(),
        format!(".{signature}"),
        format!("{signed_part}{signature}"),
        format!("{right}="),
        format!("{right}A"),
        format!("{right}."),
        alias,
        unsigned,
        "x".repeat(43),
        "x".repeat(44),
    ] {
        assert_eq!(check(&with_token(&wrong), &ours()), Err(BAD_TOKEN), "{wrong}");
    }
}

#[test]
fn a_request_that_ends_early_is_refused_wherever_it_ends() {
    let whole = with_token(&right());
    for length in 0..whole.len() {
        let verdict = check(&whole[..length], &ours());
        assert!(verdict == Err(NO_TOKEN) || verdict == Err(BAD_TOKEN), "{length}: {verdict:?}");
    }
    assert_eq!(check(&whole, &ours()), Ok(()));
    assert_eq!(check(&[&whole[..], b"A"].concat(), &ours()), Err(BAD_TOKEN), "more behind it");
}

#[test]
fn a_length_beyond_the_datagram_is_refused() {
    let right = right();
    for length in [
        vec![0x78, 0xff],
        vec![0x79, 0xff, 0xff],
        vec![0x7a, 0xff, 0xff, 0xff, 0xff],
        vec![0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        // Reserved, and indefinite.
        vec![0x7c],
        vec![0x7d],
        vec![0x7e],
        vec![0x7f],
    ] {
        let payload = [head(5, 1), text("token"), length.clone(), right.clone().into()].concat();
        assert_eq!(checked(&payload), Err(BAD_TOKEN), "{length:?}");
        let payload = [head(5, 2), text("other"), length.clone(), right.clone().into()].concat();
        assert_eq!(checked(&payload), Err(NO_TOKEN), "{length:?}");
    }
    // Lists and maps that say to have more than anybody can send.
    for list in [0x9b, 0xbb] {
        let endless = [&[list][..], &[0xff; 8]].concat();
        let payload = map(&[("token", text(&right)), ("x", endless.repeat(20))]);
        assert_eq!(checked(&payload), Err(BAD_TOKEN));
    }
    assert_eq!(checked(&[&[0xbb][..], &[0xff; 8]].concat()), Err(NO_TOKEN));
}

#[test]
fn the_length_of_a_token_counts_and_not_the_characters_behind_it() {
    let right = right();
    // The next name is of base64's characters, too.
    let next = map(&[("token", text(&right)), ("AAAA", text("BBBB"))]);
    assert_eq!(checked(&next), Ok(()));
    for wrong in [right.len() - 1, right.len() + 1] {
        let token = [head(3, wrong), right.clone().into_bytes(), text("AAAA"), text("B")].concat();
        assert_eq!(checked(&[head(5, 2), text("token"), token].concat()), Err(BAD_TOKEN));
    }
}

#[test]
fn of_two_tokens_none_counts() {
    let (right, forged) = (right(), signed("another key", r#"{"sub":"admin"}"#));
    for [first, second] in [[&right, &forged], [&forged, &right], [&right, &right]] {
        let payload = map(&[("token", text(first)), ("token", text(second))]);
        assert_eq!(checked(&payload), Err(BAD_TOKEN));
        // A name with a longer head than it needs is the same name.
        let long = [&[0x78, 5][..], b"token"].concat();
        let pairs = [text("token"), text(first), long, text(second)].concat();
        assert_eq!(checked(&[head(5, 2), pairs].concat()), Err(BAD_TOKEN));
    }
    // Neither is a second name that another reader may take for the same.
    for name in [[&[0x45][..], b"token"].concat(), [head(6, 0), text("token")].concat()] {
        let pairs = [text("token"), text(&right), name, text(&forged)].concat();
        assert_eq!(checked(&[head(5, 2), pairs].concat()), Err(BAD_TOKEN));
    }
    let again = [map(&[("token", text(&right))]), map(&[("token", text(&forged))])].concat();
    assert_eq!(checked(&again), Err(BAD_TOKEN), "a second map");
}

#[test]
fn requests_without_a_token_have_none() {
    let right = right();
    for payload in [
        map(&[]),
        map(&[("on", vec![0xf5])]),
        map(&[("Token", text(&right))]),
        map(&[("tokens", text(&right))]),
        text(&right),
        right.clone().into_bytes(),
        [head(4, 2), text("token"), text(&right)].concat(),
        [vec![0xbf], text("token"), text(&right), vec![0xff]].concat(),
    ] {
        assert_eq!(checked(&payload), Err(NO_TOKEN), "{payload:x?}");
    }
    // A token that is no text is one, and wrong.
    for value in [vec![0x00], vec![0xf6], [head(2, right.len()), right.clone().into()].concat()] {
        assert_eq!(checked(&map(&[("token", value)])), Err(BAD_TOKEN));
    }
}

#[test]
fn heads_of_coap_are_read() {
    let payload = map(&[("token", text(&right()))]);
    let request = |head: &[u8]| check(&[head, &payload].concat(), &ours());
    for head in [
        &b"\x40\x02\0\0\xff"[..],
        b"\x48\x01\0\0\0\0\0\0\0\0\0\0\xff",
        b"\x40\x02\0\0\xb3abc\xff",
        b"\x40\x02\0\0\xdd\x01\x00abcdefghijklm\xff",
        b"\x40\x02\0\0\xe1\x00\x00x\xff",
    ] {
        assert_eq!(request(head), Ok(()), "{head:x?}");
    }
    let long = [&b"\x40\x02\0\0\x0e\x00\x01"[..], &[b'x'; 270], b"\xff"].concat();
    assert_eq!(request(&long), Ok(()));
    for head in [
        // Versions 0, 2 and 3, and lengths of the token that are reserved.
        &b"\x00\x02\0\0\xff"[..],
        b"\x80\x02\0\0\xff",
        b"\xc0\x02\0\0\xff",
        b"\x49\x02\0\0\0\0\0\0\0\0\0\0\0\xff",
        // Numbers and lengths of options that are reserved.
        b"\x40\x02\0\0\xf1x\xff",
        b"\x40\x02\0\0\x1fx\xff",
        // An option beyond the datagram.
        b"\x40\x02\0\0\x0e\xff\xff\xff",
        // No marker: the map's head is an option.
        b"\x40\x02\0\0",
        // An empty message with a payload.
        b"\x40\x00\0\0\xff",
    ] {
        assert_eq!(request(head), Err(NO_TOKEN), "{head:x?}");
    }
    assert_eq!(check(b"\x40\x02\0\0\xff", &ours()), Err(NO_TOKEN), "a marker and no payload");
    // Confirmations, rejections and pings have no payload, and reach the server.
    for kind in [0x40, 0x50, 0x60, 0x70] {
        assert_eq!(check(&[kind, 0, 0x12, 0x34], &ours()), Ok(()));
        assert_eq!(check(&[kind, 0, 0x12, 0x34, 0xff], &ours()), Err(NO_TOKEN));
    }
    assert_eq!(check(&[0x41, 0, 0x12, 0x34, 0x77], &ours()), Err(NO_TOKEN));
}

/// Changed at random, a request is refused, and nothing panics.
#[test]
fn requests_that_are_changed_are_refused() {
    let (whole, secret) = (with_token(&right()), ours());
    // The map begins behind the head and the options.
    let map = post(&[]).len();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..50_000 {
        let mut changed = whole.clone();
        for _ in 0..=random(4) {
            let at = random(changed.len());
            changed[at] = random(256) as u8;
        }
        changed.truncate(changed.len() - random(3));
        // The pair behind the token and the head may change as they like.
        let is_same = changed.len() == whole.len()
            && changed[map..whole.len() - 4] == whole[map..whole.len() - 4];
        assert!(is_same || check(&changed, &secret).is_err(), "{changed:x?}");
    }
}

#[test]
fn signatures_are_those_of_another_implementation() {
    for key in [1, 31, 32, 63, 64, 65, 100, 200] {
        let key: String = ('!'..='~').cycle().take(key).collect();
        let secret = secret(&format!("key {key}"));
        let digits: String = key.bytes().map(|byte| format!("{byte:02X}")).collect();
        let in_digits = self::secret(&format!("key-hex {digits}"));
        for length in 0..300 {
            let signed = "a".repeat(length);
            let token = format!("{signed}.{}", base64(&hmac(key.as_bytes(), signed.as_bytes())));
            assert!(secret.has_signed(token.as_bytes()), "{} {length}", key.len());
            assert!(in_digits.has_signed(token.as_bytes()), "{} {length}", key.len());
        }
    }
}

/// RFC 7515, appendix A.1.
#[test]
fn the_example_of_the_standard_is_right() {
    let key =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let mut bytes = [0; 64];
    let key = Base64UrlUnpadded::decode(key, &mut bytes).unwrap();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog\
                 Imh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert!(secret(&format!("key-hex {digits}")).has_signed(token.as_bytes()));
}

#[test]
fn without_a_key_no_token_is_right() {
    let none = Secret::default();
    for key in ["", "0", KEY] {
        assert!(!none.has_signed(signed(key, "{}").as_bytes()));
    }
    assert_eq!(check(&with_token(&right()), &none), Err(BAD_TOKEN));
}

#[test]
fn configurations_that_say_nothing_clear_are_refused() {
    for wrong in [
        "",
        "key",
        "key-hex",
        "key-hex 0",
        "key-hex 0g",
        "key-hex \u{20ac}0",
        "key a\nkey b",
        "key a\nkey-hex 00",
        "key a\nserver",
        "key a\nserver 10.0.0.1",
        "key a\nserver 65536",
        "server 10.0.0.1:5683",
        "secret a",
    ] {
        assert!(Secret::configure(wrong).is_err(), "{wrong:?}");
    }
    assert!(secret("key a\nserver [2001:db8::1]:5683").is_port(5_683));
    assert!(secret("key a\nserver 7").is_port(7));
}

struct Bench {
    secret: Secret,
    clients: TestTable<Client>,
    port: Port,
}

impl Bench {
    fn new(secret: Secret) -> Self {
        let mut clients = table();
        at(&mut clients, 1);
        Self { secret, clients, port: Port::OUTSIDE }
    }

    fn handle(&mut self, mut frame: Vec<u8>) -> Verdict {
        let meta = Meta { port: self.port, now: 1, time: 1, ..Meta::default() };
        authenticate(&mut Packet::new(&mut frame, meta), &self.secret, &mut self.clients)
    }

    /// Requests of a client without a token, and with a wrong one.
    fn refused(&self, client: [u8; 4]) -> Option<(u64, u64)> {
        let client = self.clients.get(&SourceAddress(Address::v4(client)))?;
        Some((client.without, client.wrong))
    }
}

fn to_server(data: &[u8]) -> Vec<u8> {
    cora::testing::udp((CLIENT, 40_000), (SERVER, 5_683), data)
}

#[test]
fn refused_requests_are_counted_by_the_clients_address() {
    let mut bench = Bench::new(ours());
    let wrong = with_token(&signed("another key", "{}"));
    assert_eq!(bench.handle(to_server(&with_token(&right()))), Pass);
    assert_eq!(bench.refused(CLIENT), None);
    for _ in 0..3 {
        assert_eq!(bench.handle(to_server(&wrong)), Drop(BAD_TOKEN));
    }
    assert_eq!(bench.handle(to_server(&post(b"\xa0"))), Drop(NO_TOKEN));
    assert_eq!(bench.handle(to_server(b"")), Drop(NO_TOKEN));
    assert_eq!(bench.refused(CLIENT), Some((2, 3)));
    let another = cora::testing::udp(([10, 0, 0, 9], 40_000), (SERVER, 5_683), &wrong);
    assert_eq!(bench.handle(another), Drop(BAD_TOKEN));
    assert_eq!(bench.refused([10, 0, 0, 9]), Some((0, 1)));
    assert_eq!(bench.handle(to_server(&with_token(&right()))), Pass, "it may do better");
    assert_eq!(bench.refused(CLIENT), Some((2, 3)));
}

#[test]
fn all_that_is_no_request_passes() {
    let mut bench = Bench::new(ours());
    let udp = |from, to| cora::testing::udp(from, to, b"anything");
    assert_eq!(bench.handle(udp((CLIENT, 40_000), (SERVER, 5_684))), Pass, "another port");
    assert_eq!(bench.handle(udp((CLIENT, 40_000), ([10, 77, 0, 3], 5_683))), Pass, "another host");
    let tcp = cora::testing::tcp((CLIENT, 40_000), (SERVER, 5_683), &TcpSegment::default());
    assert_eq!(bench.handle(tcp), Pass);
    assert_eq!(bench.handle(cora::testing::ipv4(CLIENT, SERVER, 64, 89, &[0; 20])), Pass, "OSPF");
    assert_eq!(bench.handle(vec![0; 60]), Pass, "not IP");
    bench.port = Port::INSIDE;
    assert_eq!(bench.handle(udp((SERVER, 5_683), (CLIENT, 40_000))), Pass, "an answer");
    assert_eq!(bench.handle(udp((SERVER, 5_683), (CLIENT, 5_683))), Pass, "one to a server's port");
}

#[test]
fn a_server_without_an_address_is_any() {
    let mut bench = Bench::new(secret("key open sesame\nserver 7000"));
    let to = |address, port| cora::testing::udp((CLIENT, 40_000), (address, port), b"anything");
    assert_eq!(bench.handle(to(SERVER, 7_000)), Drop(NO_TOKEN));
    assert_eq!(bench.handle(to([10, 77, 0, 3], 7_000)), Drop(NO_TOKEN));
    assert_eq!(bench.handle(to(SERVER, 5_683)), Pass);
    let v6 = |last| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let over_v6 = cora::testing::udp((v6(1), 40_000), (v6(2), 7_000), &with_token(&right()));
    assert_eq!(bench.handle(over_v6), Pass);
    let over_v6 = cora::testing::udp((v6(1), 40_000), (v6(2), 7_000), b"");
    assert_eq!(bench.handle(over_v6), Drop(NO_TOKEN));
}

/// Nobody sees the port of a fragment, and the server puts a request together of them.
#[test]
fn fragments_to_the_server_are_dropped() {
    let mut bench = Bench::new(ours());
    for (at, more) in [(0, true), (1, true), (185, false)] {
        let mut frame = to_server(&with_token(&right()));
        let flags: u16 = at | if more { 0x2000 } else { 0 };
        frame[20..22].copy_from_slice(&flags.to_be_bytes());
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        // RFC 1624: the checksum of the head, with another word in it.
        let sum = u32::from(!sum) + u32::from(flags);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(bench.handle(frame.clone()), Drop(Fragment));
        bench.port = Port::INSIDE;
        assert_eq!(bench.handle(frame), Pass, "from the server's side");
        bench.port = Port::OUTSIDE;
    }
}

/// The server reads more of them than this program does, so none may hide a request.
#[test]
fn a_request_behind_extension_headers_is_found_or_dropped() {
    let v6 = |last| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let plain = cora::testing::udp((v6(1), 40_000), (v6(2), 5_683), b"anything");
    let datagram = plain[54..].to_vec();
    let mut bench = Bench::new(secret("key open sesame"));
    for (headers, verdict) in [(0, Drop(NO_TOKEN)), (3, Drop(NO_TOKEN)), (20, Drop(TooManyHeaders))]
    {
        // Options for the destination: padding alone.
        let option = |next| [next, 0, 1, 4, 0, 0, 0, 0];
        let mut payload: Vec<u8> = [option(60); 20][..headers].concat();
        if let Some(last) = payload.len().checked_sub(8) {
            payload[last] = protocol::UDP;
        }
        payload.extend(&datagram);
        let first = if headers == 0 { protocol::UDP } else { 60 };
        let frame = cora::testing::ipv6(v6(1).octets(), v6(2).octets(), 64, first, &payload);
        assert_eq!(bench.handle(frame), verdict, "{headers}");
    }
}

/// Bytes behind the datagram, which its length does not have, are not read.
#[test]
fn a_token_behind_the_datagram_does_not_count() {
    let mut bench = Bench::new(ours());
    let request = with_token(&right());
    let mut frame = to_server(&request);
    let length = 8 + request.len() as u16 - 20;
    frame[38..40].copy_from_slice(&length.to_be_bytes());
    let verdict = bench.handle(frame);
    assert!(verdict != Pass, "{verdict:?}");
}

#[test]
fn without_room_for_a_client_a_request_is_dropped_all_the_same() {
    let mut bench = Bench::new(ours());
    for number in 0..65_600_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let frame = cora::testing::udp(([10, a, b, c], 40_000), (SERVER, 5_683), b"anything");
        assert_eq!(bench.handle(frame), Drop(NO_TOKEN), "{number}");
    }
    assert_eq!(bench.refused([10, 0, 0, 1]), Some((1, 0)));
    assert_eq!(bench.refused([10, 1, 0, 63]), None);
}
