//! What the cache reads in datagrams and in streams of commands.

use cache::command::Command;
use cache::said::{Name, Said, Value};
use cache::stream::{Changes, Stream};
use cora::prelude::*;

fn datagram(said: &[u8]) -> Option<Said> {
    let bytes = [&[0x12, 0x34, 0, 0, 0, 1, 0, 0], said].concat();
    Said::parse(&bytes).ok()
}

/// A datagram, in a few words.
fn read(said: &[u8]) -> String {
    match datagram(said) {
        None => "passes".into(),
        Some(Said::Get { name, request: 0x1234 }) => format!("get {name}"),
        Some(Said::Set { name, request: 0x1234, value }) => {
            format!("set {name} {} {}", value.flags, value.data)
        }
        Some(Said::Change { name, is_answered, .. }) => {
            format!("change {name}{}", if is_answered { "" } else { " untold" })
        }
        Some(Said::Value { name, request: 0x1234, value }) => {
            format!("value {name} {} {}", value.flags, value.data)
        }
        Some(Said::Executed { stored, .. }) => format!("executed {stored}"),
        Some(Said::ChangeAll { after, .. }) => format!("all {after}"),
        Some(_) => "another request".into(),
    }
}

#[test]
fn datagrams_are_read_as_memcached_does() {
    for (said, expected) in [
        ("get a\r\n", "get a"),
        ("get  a \r\n", "get a"),
        ("get a\n", "get a"),
        ("get a b\r\n", "passes"),
        ("get\r\n", "passes"),
        ("gets a\r\n", "passes"),
        ("get a\r\nset b 0 0 1\r\nx\r\n", "all 0"),
        ("get a", "passes"),
        ("set a 7 0 3\r\nxyz\r\n", "set a 7 xyz"),
        ("set a 7 0 3\r\nx\r\n\r\n", "set a 7 x\\r\\n"),
        ("set a 7 0 3\r\nxyzw\r\n", "all 0"),
        ("set a 7 0 0\r\n\r\n", "set a 7 "),
        ("set a 7 60 3\r\nxyz\r\n", "change a"),
        ("set a 7 -1 3\r\nxyz\r\n", "change a"),
        ("set a 7 0 3 noreply\r\nxyz\r\n", "change a untold"),
        ("set a 7 0 3 nonsense\r\nxyz\r\n", "all 0"),
        ("set a 7 0 -3\r\nxyz\r\n", "all 0"),
        ("set a 7 0 99999999999\r\nxyz\r\n", "all 0"),
        ("add a 7 0 3\r\nxyz\r\n", "change a"),
        ("cas a 7 0 3 99\r\nxyz\r\n", "change a"),
        ("append a 7 0 3\r\nxyz\r\n", "change a"),
        ("delete a\r\n", "change a"),
        ("delete a noreply\r\n", "change a untold"),
        ("incr a 5\r\n", "change a"),
        ("touch a 0\r\n", "change a"),
        ("gat 0 a\r\n", "change a untold"),
        ("gat 0 a b\r\n", "all 0"),
        ("flush_all\r\n", "all 0"),
        ("flush_all 10\r\n", "all 10"),
        ("flush_all later\r\n", "all 0"),
        ("mg a v\r\n", "passes"),
        ("mg a v T60\r\n", "change a untold"),
        ("md a\r\n", "change a untold"),
        ("md YQ== b\r\n", "all 0"),
        ("ms a 3\r\nxyz\r\n", "change a untold"),
        ("ms YQ== 3 b\r\nxyz\r\n", "all 0"),
        ("mn\r\n", "passes"),
        ("stats\r\n", "passes"),
        ("conjure a\r\n", "all 0"),
        ("VALUE a 7 3\r\nxyz\r\nEND\r\n", "value a 7 xyz"),
        ("VALUE a 7 3 99\r\nxyz\r\nEND\r\n", "passes"),
        ("VALUE a 7 3\r\nxyz\r\nVALUE b 7 3\r\nxyz\r\nEND\r\n", "passes"),
        ("VALUE a 7 3\r\nxy\r\nEND\r\n", "passes"),
        ("STORED\r\n", "executed true"),
        ("NOT_FOUND\r\n", "executed false"),
    ] {
        assert_eq!(read(said.as_bytes()), expected, "{said:?}");
    }
    let long = "n".repeat(39);
    assert_eq!(read(format!("get {long}\r\n").as_bytes()), "passes");
    assert_eq!(read(format!("delete {long}\r\n").as_bytes()), "passes");
    let large = "d".repeat(1_025);
    assert_eq!(read(format!("set a 0 0 1025\r\n{large}\r\n").as_bytes()), "change a");
    assert_eq!(read(format!("VALUE a 0 1025\r\n{large}\r\nEND\r\n").as_bytes()), "passes");
    // Reserved bytes are not zero with some clients, and answers of several datagrams pass.
    assert!(Said::parse(b"\x12\x34\0\0\0\x01\xff\xffget a\r\n").is_ok());
    assert!(Said::parse(b"\x12\x34\0\0\0\x02\0\0VALUE a 7 3\r\nxyz\r\nEND\r\n").is_err());
    assert!(Said::parse(b"\x12\x34\0\0\0\x01\0").is_err());
}

/// A binary request.
fn binary(operation: u8, extras: usize, name: &[u8], data: &[u8]) -> Vec<u8> {
    let mut request = vec![0x80, operation, 0, name.len() as u8, extras as u8, 0, 0, 0];
    request.extend(((extras + name.len() + data.len()) as u32).to_be_bytes());
    request.resize(24 + extras, 0);
    request.extend(name);
    request.extend(data);
    request
}

#[test]
fn binary_requests_are_told_by_their_operation() {
    for (request, expected) in [
        (binary(0x00, 0, b"a", b""), "passes"),
        (binary(0x0c, 0, b"a", b""), "passes"),
        (binary(0x01, 8, b"a", b"xyz"), "change a untold"),
        (binary(0x11, 8, b"a", b"xyz"), "change a untold"),
        (binary(0x04, 0, b"a", b""), "change a untold"),
        (binary(0x01, 8, b"", b"xyz"), "all 0"),
        (binary(0x08, 0, b"", b""), "all 0"),
        (binary(0x50, 0, b"a", b""), "all 0"),
        ([binary(0x00, 0, b"a", b""), binary(0x04, 0, b"b", b"")].concat(), "all 0"),
    ] {
        assert_eq!(read(&request), expected, "{request:?}");
    }
    let mut lies = binary(0x01, 8, b"a", b"");
    lies[11] = 1;
    assert_eq!(read(&lies), "all 0");
}

#[test]
fn what_is_answered_is_what_memcached_says() {
    let value = Value { flags: 42, data: Bytes::of(b"x y\r\n").unwrap() };
    let name = Name::of(b"some:name").unwrap();
    let mut bytes = [0; 200];
    let said = Said::Value { name, request: 0x1234, value };
    let length = cora::datagram::write(&said, &mut bytes).unwrap();
    let expected = b"\x12\x34\0\0\0\x01\0\0VALUE some:name 42 5\r\nx y\r\n\r\nEND\r\n";
    assert_eq!(bytes[..length], expected[..]);
    assert_eq!(read(&bytes[8..length]), "value some:name 42 x y\\r\\n");
}

/// Names of changed items; `*` for any.
#[derive(Default)]
struct Heard(Vec<String>);

impl Changes for Heard {
    fn item(&mut self, name: &[u8]) -> bool {
        self.0.push(String::from_utf8_lossy(name).into());
        true
    }

    fn any(&mut self, after: u32) {
        self.0.push(if after == 0 { "*".into() } else { format!("* in {after}") });
    }
}

/// What is heard of these bytes, in pieces of so many.
fn heard(said: &[u8], piece: usize) -> Vec<String> {
    let (mut stream, mut heard) = (Stream::opened(999), Heard::default());
    let mut sequence = 1_000_u32;
    for piece in said.chunks(piece) {
        stream.read(sequence, piece, &mut heard);
        sequence += piece.len() as u32;
    }
    heard.0
}

#[test]
fn commands_of_a_stream_are_found_however_it_is_cut() {
    let many: String = (0..80).map(|number| format!(" name-{number:04}")).collect();
    let text = format!(
        "get a\r\nset b 0 0 31\r\nset no 0 0 1\r\nx\r\ndelete no\r\n123\r\n\
         get{many}\r\ngets c\r\nadd {} 1 2 0 noreply\r\n\r\nms d 2 T0\r\nxx\r\nincr e 1\r\n\
         flush_all 7\r\nmg f v\r\ncas g 0 0 2 17\r\nyy\r\nverbosity 1\r\nmd h q\r\n",
        "n".repeat(250)
    );
    let expected: Vec<String> =
        ["b", &"n".repeat(250), "d", "e", "* in 7", "g", "h"].map(Into::into).to_vec();
    let requests = [
        binary(0x00, 0, b"a", b""),
        binary(0x01, 8, b"b", &[0x80; 300]),
        binary(0x0a, 0, b"", b""),
        binary(0x14, 0, &[b'n'; 250], b""),
        binary(0x05, 20, b"c", b""),
        binary(0x18, 4, b"", b""),
        binary(0x1d, 4, b"d", b""),
    ];
    let named = ["b", &"n".repeat(250), "c", "*", "d"].map(Into::into).to_vec();
    for (said, expected) in [(text.into_bytes(), expected), (requests.concat(), named)] {
        for piece in (1..=40).chain([100, 336, 337, 1_000, 1_460]) {
            assert_eq!(heard(&said, piece), expected, "in pieces of {piece}");
        }
    }
}

#[test]
fn whatever_can_t_be_followed_may_change_anything() {
    for said in [
        "conjure a\r\ndelete b\r\n",
        "set a 0 0 x\r\ndelete b\r\n",
        "set a 0 0 2\r\nabc\r\ndelete b\r\n",
        "\r\ndelete b\r\n",
        &format!("set {} 0 0 1\r\nx\r\ndelete b\r\n", "n".repeat(251)),
        &format!("{}\r\ndelete b\r\n", "x".repeat(400)),
    ] {
        for piece in [1, 7, 1_000] {
            let heard = heard(said.as_bytes(), piece);
            assert_eq!(heard.last().map(String::as_str), Some("*"), "{said:?}");
            assert!(!heard.contains(&"b".into()), "{said:?}: {heard:?}");
        }
    }
    // A hole; data again, perhaps others; a connection that nobody saw being opened.
    let (mut stream, mut heard) = (Stream::opened(u32::MAX), Heard::default());
    stream.read(0, b"delete a\r\n", &mut heard);
    stream.read(0, b"delete b\r\ndelete c\r\n", &mut heard);
    stream.read(20, b"delete d\r\n", &mut heard);
    stream.read(31, b"delete e\r\n", &mut heard);
    stream.read(30, b"x", &mut heard);
    assert_eq!(heard.0, ["a", "*", "c", "d", "*", "*"]);
    let mut heard = Heard::default();
    Stream::unseen().read(7, b"get a\r\n", &mut heard);
    assert_eq!(heard.0, ["*"]);
}

#[test]
fn no_line_is_read_beyond_its_end() {
    assert_eq!(Command::of(b""), Command::Unknown);
    assert_eq!(Command::of(b"  "), Command::Unknown);
    assert_eq!(Command::of(b"get a"), Command::Get { name: b"a" });
    let whole = b"set a 1 0 4294967295 noreply";
    for end in 0..whole.len() {
        let _command = Command::of(&whole[..end]);
    }
}
