//! The `?` of a transparent handler that are refused, as far as the handler alone shows.

use cora_build::diag::{Diagnostics, codes};
use cora_build::item::parse_handler;
use cora_build::syntax::Reader;

/// The faults of a transparent handler with this body, each by the failing method.
fn refused(body: &str) -> Vec<String> {
    let text = format!(
        "fn f(packet: &mut Packet, t: &mut Table<T>, u: &mut U, s: &S) -> Verdict {{ {body} }}"
    );
    let mut diagnostics = Diagnostics::new();
    let (args, item) = ("transparent".parse(), text.parse());
    let args = args.expect("a word");
    parse_handler(args, item.expect("tokens"), Reader::BuildScript, &mut diagnostics);
    // The first quoted words are the handler and, mostly, the `?`.
    let method = |message: &str| {
        let quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
        quoted.skip(1).find(|word| word != "?")
    };
    diagnostics
        .iter()
        .map(|found| {
            assert_eq!(found.code, codes::HANDLER_NOT_TRANSPARENT, "{body}: {}", found.message);
            method(&found.message).unwrap_or_default()
        })
        .collect()
}

#[test]
fn what_the_packet_or_a_full_table_refuses_is_told() {
    for (body, expected) in [
        ("packet.flow()?; Transmit", &["flow"][..]),
        (
            "let a = packet.source()?; let b = packet.destination()?; Transmit",
            &["source", "destination"],
        ),
        (
            "t.insert(k, v)?; t.insert_with_reply(k, r, v)?; Transmit",
            &["insert", "insert_with_reply"],
        ),
        (
            "packet.set_source(a)?; packet.decrement_ttl()?; Transmit",
            &["set_source", "decrement_ttl"],
        ),
        ("let f = packet.flow(); let g = f; g?; Transmit", &["flow"]),
        ("let mut f = Ok(1); f = packet.ttl(); f?; Transmit", &["ttl"]),
        ("let p = &mut *packet; p.tcp().ok_or(NO_TCP)?; Transmit", &["tcp"]),
        ("packet.flow().map_err(|_| OWN).and_then(other)?; Transmit", &["flow"]),
        ("Some(1).ok_or(OWN).and_then(|_| packet.flow())?; Transmit", &["flow"]),
        ("Headers::flow(packet)?; Table::insert(t, k, v)?; Transmit", &["flow", "insert"]),
        ("let key = || packet.flow(); key()?; Transmit", &["flow"]),
        ("(if a { packet.flow() } else { Err(OWN) })?; Transmit", &["flow"]),
        ("for _ in 0..3 { if a { match b { _ => { packet.ttl()?; } } } } Transmit", &["ttl"]),
        ("let x = { let y = packet.ttl(); y }?; Transmit", &["ttl"]),
        ("if let Some(e) = t.get(&packet.flow()?) { e.n } Transmit", &["flow"]),
        (
            "fn key(p: &Headers) -> Result<FiveTuple, Reason> { p.flow() } key(packet)?; Transmit",
            &["flow"],
        ),
        ("println!(\"{}\", packet.ttl()?); Transmit", &["ttl"]),
        (
            "if a { return packet.set_ttl(1).map(|()| Forward::Transmit).map_err(Stop::from); } Transmit",
            &["set_ttl"],
        ),
        ("packet.set_ttl(1).map_err(Stop::from).and(Transmit)", &["set_ttl"]),
    ] {
        assert_eq!(refused(body), expected, "{body}");
    }
}

#[test]
fn what_the_handler_decides_stays() {
    for body in [
        "let Ok(flow) = packet.flow() else { return Transmit }; Transmit",
        "if let Ok(flow) = packet.flow() { t.remove(&flow); } Transmit",
        "match packet.flow() { Ok(_) => Transmit, Err(reason) => Drop(reason) }",
        "if packet.ttl().is_ok_and(|ttl| ttl == 0) { return Drop(OWN); } Transmit",
        "let ttl = packet.ttl().unwrap_or(64); u.take(ttl)?; Transmit",
        "u.take(packet.len() as u64)?; s.of(packet.port()).ok_or(OWN)?; Transmit",
        "t.get(&k).ok_or(OWN)?; Transmit",
        "t.insert(k, v).ok(); t.remove(&k); Transmit",
        "let flow = packet.flow(); let flow = 3; other(flow)?; Transmit",
        "let key = || -> Option<u8> { packet.ttl().ok()?; None }; if key().is_none() { return Pass; } Transmit",
        "fn key(p: &Headers) -> Result<FiveTuple, Reason> { Ok(p.flow()?) } if key(packet).is_err() { return Transmit; } Transmit",
        "Redirect(packet.port())",
    ] {
        assert_eq!(refused(body), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn a_handler_that_is_not_transparent_may_drop() {
    let mut diagnostics = Diagnostics::new();
    let item = "fn f(packet: &mut Packet) -> Verdict { packet.flow()?; Transmit }";
    let none = proc_macro2::TokenStream::new();
    let item = item.parse().expect("tokens");
    let handler = parse_handler(none, item, Reader::Macro, &mut diagnostics);
    assert!(handler.is_some_and(|handler| !handler.transparent));
    assert!(diagnostics.is_empty());
}
