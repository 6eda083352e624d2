//! What the front end sees a handler do to its states, and what it admits not to see.

use cora_build::check::access::accesses;
use cora_build::diag::Diagnostics;
use cora_build::syntax::{Reader, parse_handler};

/// The accesses of a body with states `t: &mut Table<T>`, `v: &Table<V>`, `u: &mut U`, `s: &S`, as
/// text: `t:rwid` for reads, writes, inserts, removes; `!` per opaque place; nothing for untouched.
fn seen(body: &str) -> String {
    let text = format!(
        "fn f(packet: &mut Packet, t: &mut Table<T>, v: &Table<V>, u: &mut U, s: &S) -> Verdict {{ {body} }}"
    );
    let mut diagnostics = Diagnostics::new();
    let tokens = text.parse().expect("tokens");
    let handler = parse_handler(
        proc_macro2::TokenStream::default(),
        tokens,
        Reader::BuildScript,
        &mut diagnostics,
    );
    let handler = handler.unwrap_or_else(|| panic!("{}", diagnostics.render(&text, "text")));
    let mut shown = Vec::new();
    for access in accesses(&handler) {
        let flags = [
            (access.reads, 'r'),
            (access.writes, 'w'),
            (access.inserts, 'i'),
            (access.removes, 'd'),
        ];
        let mut letters: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        letters.push_str(&"!".repeat(access.opaque.len()));
        if !letters.is_empty() {
            shown.push(format!("{}:{letters}", access.parameter));
        }
    }
    shown.join(" ")
}

#[test]
fn methods_of_tables_are_known() {
    for (body, expected) in [
        ("Transmit", ""),
        ("t.get(&k); Transmit", "t:r"),
        ("if t.contains(&k) && v.contains(&k) { Pass } else { Transmit }", "t:r v:r"),
        ("if let Some(e) = t.get_mut(&k) { e.n += 1; } Transmit", "t:rw"),
        ("t.find_mut(&k); Transmit", "t:rw"),
        ("t.insert(k, e)?; Transmit", "t:wi"),
        ("t.insert_with_reply(k, r, e)?; Transmit", "t:wi"),
        ("t.remove(&k); Transmit", "t:wd"),
        ("(*t).get(&k); (&mut t).remove(&k); Transmit", "t:rwd"),
        ("t.insert(k, v.get(&k).copied())?; Transmit", "t:wi v:r"),
    ] {
        assert_eq!(seen(body), expected, "{body}");
    }
}

#[test]
fn fields_are_known() {
    for (body, expected) in [
        ("let n = u.next; Transmit", "u:r"),
        ("u.next = 5; Transmit", "u:w"),
        ("u.next += 5; Transmit", "u:rw"),
        ("u.free[s.at] = t.len(); Transmit", "t:r u:w s:r"),
        ("*u = U::default(); Transmit", "u:w"),
        ("u.bytes.add(5); u.longest.raise(6); Transmit", "u:w"),
        ("u.list.rotate(); Transmit", "u:rw"),
        ("if s.rules.allow() { Pass } else { s.count() }", "s:r"),
        ("let first = &s.list[0]; let n = &u.next; Transmit", "u:r s:r"),
    ] {
        assert_eq!(seen(body), expected, "{body}");
    }
}

#[test]
fn what_cannot_be_seen_is_the_worst_case_and_told() {
    for (body, expected) in [
        ("helper(t); Transmit", "t:rwid!"),
        ("helper(v, s); Transmit", "v:r! s:r!"),
        ("helper(&mut *u); Transmit", "u:rw!"),
        ("u.take()?; Transmit", "u:rw!"),
        ("t.sweep(); Transmit", "t:rwid!"),
        ("v.peek(); Transmit", "v:r!"),
        ("let alias = t; alias.get(&k); Transmit", "t:rwid!"),
        ("log!(t, \"{u:?}\"); Transmit", "t:rwid! u:rw!"),
        ("let part = &mut u.list; Transmit", "u:rw!"),
        ("let each = |n| t.get(n); Transmit", "t:r"),
        ("let s2 = Both { u }; Transmit", "u:rw!"),
        ("fn inner(t: u8) -> u8 { t } Transmit", ""),
    ] {
        assert_eq!(seen(body), expected, "{body}");
    }
}
