//! The front end's view of a handler's accesses, path by path, and its opaque accesses.
#![cfg(feature = "script")]

use cora_build::analyse::{self, Act, Found, Home, Path, Surroundings, Touch};
use cora_build::diag::Diagnostics;
use cora_build::item::parse_handler;
use cora_build::syntax::{HandlerDecl, Reader};
use cora_plan::graph::{Does, Exit};

const NAMES: [&str; 4] = ["t", "v", "u", "s"];

/// A handler with states `t: &mut Table<T>`, `v: &Table<V>`, `u: &mut U`, `s: &S`.
fn handler(body: &str) -> HandlerDecl {
    let text = format!(
        "fn f(packet: &mut Packet, t: &mut Table<T>, v: &Table<V>, u: &mut U, s: &S) -> Verdict {{ {body} }}"
    );
    let mut diagnostics = Diagnostics::new();
    let tokens = text.parse().expect("tokens");
    let none = proc_macro2::TokenStream::default();
    let handler = parse_handler(none, tokens, Reader::BuildScript, &mut diagnostics);
    handler.unwrap_or_else(|| panic!("{}", diagnostics.render(&text, "text")))
}

/// The result for a body with these items around it. `mod` may contain items too.
fn found(body: &str, items: &str) -> Found {
    fn add(items: &[syn::Item], module: &[String], around: &mut Surroundings) {
        for item in items {
            around.add(item, 0, module);
            if let syn::Item::Mod(syn::ItemMod { ident, content: Some((_, items)), .. }) = item {
                let module: Vec<String> =
                    module.iter().cloned().chain([ident.to_string()]).collect();
                add(items, &module, around);
            }
        }
    }
    let mut around = Surroundings::default();
    add(&syn::parse_file(items).expect("items").items, &[], &mut around);
    analyse::run(&handler(body), Home { file: 0, module: &[] }, &around)
}

/// The total effects of a body as text: `t:rwid` for reads, writes, inserts, removes; `!` per
/// opaque place; nothing for untouched states.
fn seen(body: &str) -> String {
    let found = found(body, "");
    let mut shown = Vec::new();
    for (state, effect) in found.effects.iter().enumerate() {
        let flags = [
            (effect.reads, 'r'),
            (effect.writes, 'w'),
            (effect.inserts, 'i'),
            (effect.removes, 'd'),
        ];
        let mut letters: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        let opaque = found.opaque.iter().filter(|unseen| unseen.state == state).count();
        letters.push_str(&"!".repeat(opaque));
        if !letters.is_empty() {
            shown.push(format!("{}:{letters}", NAMES[state]));
        }
    }
    shown.join(" ")
}

/// A path as text: `t.write(k) u.read'* > transmit`, with `'` after a write, `*` for any number of
/// times.
fn shown(path: &Path) -> String {
    let touch = |touch: &Touch| {
        let does = match touch.act {
            Act::Access(Does::Read) => "read",
            Act::Access(Does::Write) => "write",
            Act::Access(Does::Insert) => "insert",
            Act::Access(Does::Remove) => "remove",
            Act::Access(Does::Anything) => "any",
            Act::Send(how) => how.word(),
        };
        let key = touch.key.as_ref().map(|key| format!("({key})")).unwrap_or_default();
        let after = if touch.after_write { "'" } else { "" };
        let many = if touch.many { "*" } else { "" };
        format!("{}.{does}{key}{after}{many} ", NAMES[touch.state])
    };
    let exit = match path.exit {
        Exit::Transmit => "transmit",
        Exit::Drop => "drop",
        Exit::Pass => "pass",
        Exit::Redirect => "redirect",
        Exit::Done => "done",
        Exit::Unseen => "unseen",
    };
    format!("{}> {exit}", path.touches.iter().map(touch).collect::<String>())
}

/// Checks that a body has these paths, in this order.
#[track_caller]
fn paths_with(items: &str, body: &str, expected: &[&str]) {
    let found: Vec<String> = found(body, items).paths.iter().map(shown).collect();
    assert_eq!(found, expected, "{body}");
}

#[track_caller]
fn paths(body: &str, expected: &[&str]) {
    paths_with("", body, expected);
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
fn getters_that_may_fail_part_ways_and_touch_nothing() {
    paths(
        "let Ok(k) = packet.flow() else { return Transmit }; t.get(&k); Transmit",
        &["> transmit", "t.read(k) > transmit"],
    );
    paths(
        "if let Ok(k) = packet.flow() { t.get(&k); } Transmit",
        &["t.read(k) > transmit", "> transmit"],
    );
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
        ("let copy = *u; Transmit", "u:r"),
    ] {
        assert_eq!(seen(body), expected, "{body}");
    }
}

#[test]
fn what_cannot_be_seen_is_the_worst_case_and_told() {
    for (body, expected) in [
        ("helper(t); Transmit", "t:rwid!"),
        ("helper(v, s); Transmit", "v:r! s:r"),
        ("other.judge(s, packet); Transmit", "s:r"),
        ("let kept = Some(s); Transmit", "s:r"),
        ("helper(&mut *u); Transmit", "u:rw!"),
        ("helper(&*u); Transmit", "u:r"),
        ("u.take()?; Transmit", "u:rw!"),
        ("t.sweep(); Transmit", "t:rwid!"),
        ("v.peek(); Transmit", "v:r!"),
        ("let alias = t; alias.get(&k); Transmit", "t:r"),
        ("log!(t, \"{u:?}\"); Transmit", "t:rwid! u:rw!"),
        ("let w = t; log!(w); Transmit", "t:rwid!"),
        ("let part = &mut u.list; Transmit", "u:rw!"),
        ("let U { next, .. } = u; Transmit", "u:rw!"),
        ("match u.slot { Some(ref mut slot) => *slot = 1, None => {} } Transmit", "u:rw!"),
        ("let each = |n| t.get(n); Transmit", ""),
        ("let each = |n| t.get(n); each(1); Transmit", "t:r"),
        ("let s2 = Both { u }; Transmit", "u:rw!"),
        ("let mut w = u; w = other; Transmit", "u:rw!"),
        ("let w; w = t; Transmit", "t:rwid!"),
        ("fn inner(t: u8) -> u8 { t } Transmit", ""),
    ] {
        assert_eq!(seen(body), expected, "{body}");
    }
}

#[test]
fn branches_make_paths_and_equal_ones_are_one() {
    paths("Transmit", &["> transmit"]);
    paths("if a { Pass } else { Redirect(p) }", &["> pass", "> redirect"]);
    paths("if a { x(); } else { y(); } Transmit", &["> transmit"]);
    paths(
        "if t.contains(&k) { u.n = 1; } else if a { t.insert(k, e)?; } Transmit",
        &[
            "t.read(k) t.insert(k) > drop",
            "t.read(k) u.write > transmit",
            "t.read(k) t.insert(k) > transmit",
            "t.read(k) > transmit",
        ],
    );
    paths(
        "if a && t.contains(&k) || b && v.contains(&k) { Pass } else { Transmit }",
        &[
            "t.read(k) > pass",
            "v.read(k) > pass",
            "t.read(k) v.read(k) > pass",
            "> transmit",
            "t.read(k) > transmit",
            "v.read(k) > transmit",
            "t.read(k) v.read(k) > transmit",
        ],
    );
    paths(
        "if !(a || t.contains(&k)) { return Pass; } Transmit",
        &["t.read(k) > pass", "> transmit", "t.read(k) > transmit"],
    );
}

#[test]
fn the_same_access_twice_in_a_row_stands_there_once() {
    paths("u.a.add(1); u.b.add(1); u.c = u.a; Transmit", &["u.write u.read' u.write' > transmit"]);
    paths("t.get(&a); t.get(&b); t.get(&b); Transmit", &["t.read(a) t.read(b) > transmit"]);
}

#[test]
fn matches_follow_guards_and_what_earlier_arms_took() {
    paths(
        "match t.find_mut(&k) { Some((d, e)) => e.n += 1, None if a => t.insert(k, e)?, None => return Drop(X) } Transmit",
        &[
            "t.write(k) t.insert(k)' > drop",
            "t.write(k) > drop",
            "t.write(k) > transmit",
            "t.write(k) t.insert(k)' > transmit",
        ],
    );
    paths(
        "match kind { A => {} B if v.contains(&k) => u.n = 1, C | D => return Pass, _ => {} } Transmit",
        &[
            "> pass",
            "v.read(k) > pass",
            "> transmit",
            "v.read(k) u.write > transmit",
            "v.read(k) > transmit",
        ],
    );
    paths(
        "match t.get(&k) { None => Pass, Some(e) => match e.n { 0 => Transmit, n => Drop(X) } }",
        &["t.read(k) > pass", "t.read(k) > transmit", "t.read(k) > drop"],
    );
    // A guard's names are not bound in the arms after it.
    paths("match x { u if a => {} _ => u.n = 1 } Transmit", &["> transmit", "u.write > transmit"]);
}

#[test]
fn what_a_condition_taught_is_kept() {
    paths(
        "let kept = t.insert(k, e); if kept.is_err() { u.n = 1; } kept?; Transmit",
        &["t.insert(k) u.write' > drop", "t.insert(k) > transmit"],
    );
    paths(
        "let begins = a(); if begins { t.get(&k); } if !begins { u.n = 1; } Transmit",
        &["u.write > transmit", "t.read(k) > transmit"],
    );
    paths(
        "let mut begins = a(); if begins { t.get(&k); begins = b(); } if begins { u.n = 1; } Transmit",
        &[
            "t.read(k) u.write > transmit",
            "u.write > transmit",
            "t.read(k) > transmit",
            "> transmit",
        ],
    );
    paths(
        "let x = o(); if x.is_none() { return Pass; } change(x); if x.is_none() { u.n = 1; } Transmit",
        &["> pass", "u.write > transmit", "> transmit"],
    );
    paths(
        "let x = o(); while a() { if x.is_none() { u.n = 1; x.insert(1); } } Transmit",
        &["> transmit", "u.write* > transmit"],
    );
}

#[test]
fn exits_are_told_where_the_source_shows_them() {
    paths("Ok(Forward::Transmit)", &["> transmit"]);
    paths("Ok(Forward::Redirect(p))", &["> redirect"]);
    paths("Err(Stop::drop(X))", &["> drop"]);
    paths("let verdict = if a { Pass } else { Transmit }; verdict", &["> pass", "> transmit"]);
    paths("verdict(packet)", &["> unseen"]);
    paths("packet.five_tuple()?; verdict(packet)?; Pass", &["> drop", "> pass"]);
    paths("if a { unreachable!() } Transmit", &["> transmit"]);
    paths("unreachable!()", &["> unseen"]);
    paths("check!(a); Transmit", &["> unseen", "> transmit"]);
    paths("assert!(a); Transmit", &["> transmit"]);
    paths_with(
        "fn judge(a: bool) -> Verdict { if a { Drop(X) } else { Pass } }",
        "judge(a)",
        &["> drop", "> pass"],
    );
    paths_with("fn Drop(x: u8) -> Verdict { Pass }", "Drop(1)", &["> pass"]);
}

#[test]
fn let_else_and_let_chains_bind_and_leave() {
    paths(
        "let Some(e) = t.get_mut(&k) else { t.insert(k, e)?; return Pass; }; e.n += u.n; Transmit",
        &[
            "t.write(k) t.insert(k)' > drop",
            "t.write(k) t.insert(k)' > pass",
            "t.write(k) u.read' > transmit",
        ],
    );
    paths(
        "if let Some(e) = t.get(&k) && let Some(f) = v.get(&e.k) && f.n > 1 { return Pass; } Transmit",
        &[
            "t.read(k) v.read(e.k) > pass",
            "t.read(k) > transmit",
            "t.read(k) v.read(e.k) > transmit",
        ],
    );
    paths("#[cfg(feature = \"x\")] u.n = 1; Transmit", &["u.write > transmit", "> transmit"]);
}

#[test]
fn loops_are_none_one_or_more_rounds() {
    paths("for k in keys { t.get(&k); } Transmit", &["> transmit", "t.read(k)* > transmit"]);
    paths(
        "while t.contains(&k) { u.n += 1; } Transmit",
        &["t.read(k) > transmit", "t.read(k)'* u.write'* t.read(k)' > transmit"],
    );
    paths(
        "loop { if t.contains(&k) { break; } u.n += 1; } Transmit",
        &["t.read(k) > transmit", "t.read(k)'* u.write'* t.read(k)' > transmit"],
    );
    paths(
        "for k in keys { let Some(e) = t.get_mut(&k) else { continue }; if e.full { return Drop(X); } } Pass",
        &["t.write(k) > drop", "t.write(k)* t.write(k)' > drop", "> pass", "t.write(k)* > pass"],
    );
    paths("loop { u.n = 1; return Pass; }", &["u.write > pass"]);
    paths(
        "let e = loop { if let Some(e) = t.get(&k) { break e; } }; Pass",
        &["t.read(k) > pass", "t.read(k)* t.read(k) > pass"],
    );
}

#[test]
fn labels_leave_the_loop_or_block_that_they_name() {
    paths(
        "'outer: for a in b { t.get(&a); loop { u.n = 1; if c { continue 'outer; } if d { break 'outer; } } } Transmit",
        &[
            "t.read(a) u.write > transmit",
            "t.read(a)'* u.write'* t.read(a)' u.write' > transmit",
            "t.read(a) u.write* u.write' > transmit",
            "t.read(a)'* u.write'* t.read(a)' u.write'* u.write' > transmit",
            "> transmit",
            "t.read(a)'* u.write'* > transmit",
        ],
    );
    paths(
        "let v = 'found: { if t.contains(&k) { break 'found Pass; } u.n = 1; Transmit }; v",
        &["t.read(k) u.write > transmit", "t.read(k) > pass"],
    );
}

#[test]
fn names_may_stand_for_states_and_hide_them() {
    paths(
        "let w = &mut *t; w.insert(k, e)?; t.len(); Transmit",
        &["t.insert(k) > drop", "t.insert(k) t.read' > transmit"],
    );
    paths("{ let t = other(); t.get(&k); } t.get(&k); Transmit", &["t.read(k) > transmit"]);
    paths("for t in list { t.get(&k); } Transmit", &["> transmit"]);
    paths("if let Some(u) = o { u.n = 1; } Transmit", &["> transmit"]);
    paths(
        "let w = if a { u } else { other() }; w.n = 1; Transmit",
        &["u.write > transmit", "> transmit"],
    );
    paths("let f = |t: &X| t.get(&k); f(x); u.n = 1; Transmit", &["u.write > transmit"]);
}

#[test]
fn closures_run_none_one_or_more_times_where_they_go() {
    paths("keys.each(|k| t.get(k)); Transmit", &["> transmit", "t.read(k)* > transmit"]);
    paths("let f = |k| t.get(k); u.n = 1; f(1); Transmit", &["u.write t.read(k)' > transmit"]);
    paths(
        "o.map(|k| { t.get(k)?; Some(u.n) })?; Transmit",
        &["> drop", "t.read(k)* u.read* > drop", "> transmit", "t.read(k)* u.read* > transmit"],
    );
    // An iterator runs its closures when it is consumed.
    paths(
        "let it = keys.map(|k| t.get(k)); u.n = 1; for e in it { s.allow(e); } Transmit",
        &[
            "u.write > transmit",
            "t.read(k)* u.write > transmit",
            "u.write s.read'* t.read(k)'* > transmit",
            "t.read(k)* u.write s.read'* t.read(k)'* > transmit",
            "u.write t.read(k)'* > transmit",
            "t.read(k)* u.write t.read(k)'* > transmit",
        ],
    );
}

const HELPERS: &str = "
    use deep::down::{take, self as down};
    use elsewhere::gone;
    fn look(t: &mut Table<T>, key: &K) -> Option<u8> { let found = t.get(key)?; Some(found.n) }
    fn tail(sessions: &mut Table<T>, pool: &mut U) -> Result<(), Reason> {
        if pool.next == 0 { return Err(X); }
        sessions.insert(Key { a: pool.next }, e)
    }
    fn shared(u: &U) -> u8 { u.next }
    fn again(u: &mut U, n: u8) { if n > 0 { u.next += 1; again(u, n - 1); } }
    fn generic<G: Get>(g: &mut G) { g.get(&k); }
    fn pick(t: &mut Table<T>) -> &mut Table<T> { t }
    struct U;
    impl U {
        fn lease(&mut self, now: u32) -> Result<u16, Reason> {
            for at in 0..9 { if self.free[at] <= now { self.free[at] = now; return Ok(at); } }
            Err(X)
        }
        fn peek(&self) -> u16 { self.next }
        fn reset(&mut self) { *self = Self; }
        fn fill(&mut self, t: &mut Table<T>) { self.next = t.len(); }
        fn made(t: &mut Table<T>) -> Self { t.remove(&k); Self }
    }
    impl Sweep for Table<T> { fn sweep(&mut self, k: K) { self.remove(&k); self.len(); } }
    mod deep { pub mod down {
        use super::super::U;
        pub fn take(u: &mut U) -> Result<u16, Reason> { u.lease(1) }
        pub fn gone(u: &mut U) {}
    } }
";

#[test]
fn helpers_are_followed_in_the_handlers_words() {
    paths_with(
        HELPERS,
        "look(t, &flow)?; Transmit",
        &["t.read(flow) > drop", "t.read(flow) > transmit"],
    );
    paths_with(
        HELPERS,
        "if look(t, &flow).is_some() { u.n = 1; } Pass",
        &["t.read(flow) u.write > pass", "t.read(flow) > pass"],
    );
    paths_with(
        HELPERS,
        "tail(t, u)?; Transmit",
        &[
            "u.read > drop",
            "u.read t.insert(Key { a: pool.next }) > drop",
            "u.read t.insert(Key { a: pool.next }) > transmit",
        ],
    );
    paths_with(HELPERS, "let n = shared(u); Transmit", &["u.read > transmit"]);
    paths_with(HELPERS, "let w = pick(t); w.get(&k); Pass", &["t.read(k) > pass"]);
    paths_with(HELPERS, "fn look(u: &mut U) { u.n = 1; } look(u); Pass", &["u.write > pass"]);
}

#[test]
fn methods_of_the_programs_states_are_one_access() {
    paths_with(HELPERS, "let p = u.lease(now)?; Pass", &["u.write > drop", "u.write > pass"]);
    paths_with(HELPERS, "take(u)?; down::take(u); Pass", &["u.write > drop", "u.write > pass"]);
    paths_with(HELPERS, "u.peek(); u.reset(); Pass", &["u.read u.write > pass"]);
    paths_with(HELPERS, "u.fill(t); Pass", &["t.read u.write > pass"]);
    paths_with(HELPERS, "U::fill(u, t); U::made(t); Pass", &["t.read u.write t.remove(k)' > pass"]);
    paths_with(HELPERS, "t.sweep(flow); Pass", &["t.remove(flow) t.read' > pass"]);
}

#[test]
fn what_is_not_of_the_program_or_has_no_end_is_not_followed() {
    for (body, expected, why) in [
        ("gone(u); Pass", "u.any > pass", "handed on as a whole"),
        ("use x::look; look(t, k); Pass", "t.any > pass", "handed on as a whole"),
        ("generic(t); Pass", "t.any > pass", "handed on as a whole"),
        ("helper.look(t); Pass", "t.any > pass", "handed on as a whole"),
    ] {
        let found = found(body, HELPERS);
        assert_eq!(found.paths.iter().map(shown).collect::<Vec<_>>(), [expected], "{body}");
        assert!(found.opaque[0].why.contains(why), "{body}: {}", found.opaque[0].why);
    }
    paths_with(HELPERS, "again(u, 3); Pass", &["u.write u.any' > pass", "> pass"]);
}

#[test]
fn too_many_paths_are_taken_together_by_the_states_that_they_touch() {
    let lines: Vec<String> = (0..7).map(|n| format!("if a{n} {{ t.get(&k{n}); }}")).collect();
    let body = lines.join(" ");
    let found = found(&format!("{body} if b {{ u.n = 1; }} Transmit"), "");
    assert!(found.merged);
    let shown: Vec<String> = found.paths.iter().map(shown).collect();
    let all = "t.read(k0)* t.read(k1)* t.read(k2)* t.read(k3)* t.read(k4)* t.read(k5)* t.read(k6)*";
    for wanted in
        ["> transmit".to_owned(), "u.write > transmit".to_owned(), format!("{all} > transmit")]
    {
        assert!(shown.contains(&wanted), "{wanted}: {shown:#?}");
    }
    assert!(shown.len() <= 4, "{shown:#?}");
}

#[test]
fn a_handler_beyond_all_bounds_is_the_worst_case() {
    let mut body = "u.n = 1;".to_owned();
    for depth in 0..18 {
        body = format!("for a{depth} in b {{ if c {{ {body} }} else {{ t.get(&{depth}); }} }}");
    }
    let found = found(&format!("{body} Transmit"), "");
    assert!(found.merged);
    assert!(!found.paths.is_empty());
}
