//! Compares pictures with stored ones: `CORA_BLESS=1 cargo test -p cora-plan` rewrites them.

use std::path::Path;

use super::*;
use crate::graph::{
    self, Edge, Field, HandlerNode, How, Keyed, MessageNode, Opaque, Parameter, Sent, SourcePlace,
    WireForm,
};
use crate::placement;
use crate::statement::Statement;
use crate::vocabulary::{Kind, Replies, Sides};

fn at(line: usize) -> SourcePlace {
    SourcePlace { file: "src/main.rs".to_owned(), line, column: 1 }
}

fn handler(name: &str, line: usize, states: &[&str]) -> HandlerNode {
    let parameters = states
        .iter()
        .map(|state| Parameter {
            name: state.to_lowercase(),
            state: (*state).to_owned(),
            mutable: true,
        })
        .collect();
    let opaque = Vec::new();
    HandlerNode {
        name: name.to_owned(),
        path: format!("crate::{name}"),
        at: at(line),
        headers: false,
        at_host: false,
        sends: false,
        takes: None,
        outboxes: Vec::new(),
        parameters,
        paths: Vec::new(),
        opaque,
    }
}

fn state(name: &str, kind: Kind, key: Option<(&str, bool)>) -> StateNode {
    let keyed = key.map(|(key, reply)| Keyed {
        key: key.to_owned(),
        reply,
        capacity: 65_536,
        idle_ns: 300_000_000_000,
        life_ns: None,
        replies: Replies::Reversed,
        bucket: None,
        idle_by: false,
        within: None,
        durable: false,
        recorded: false,
        on_expire: None,
    });
    let fields = vec![Field { name: "packets".to_owned(), type_text: "u64".to_owned() }];
    StateNode {
        name: name.to_owned(),
        path: format!("crate::{name}"),
        at: at(1),
        kind,
        keyed,
        rows: None,
        objects: None,
        region: None,
        durable: false,
        merged: false,
        fields,
    }
}

fn edge(handler: &str, state: &str, does: [bool; 4]) -> Edge {
    let [reads, writes, inserts, removes] = does;
    let (handler, state) = (handler.to_owned(), state.to_owned());
    Edge { handler, state, reads, writes, inserts, removes }
}

/// Every kind of state, a shared state, an opaque access.
fn gateway() -> Graph {
    let mut graph = Graph::new("gateway");
    graph.chain = vec![
        handler("meter", 10, &["TopTalkers", "Limits"]),
        handler("firewall", 20, &["Connection", "Limits"]),
        handler("nat", 30, &["Session", "PortPool"]),
    ];
    graph.chain[1].sends = true;
    graph.chain[2].opaque.push(Opaque {
        at: at(33),
        state: "PortPool".to_owned(),
        why: "handed whole to `mystery`".to_owned(),
    });
    graph.states = vec![
        state("Connection", Kind::Keyed, Some(("FiveTuple", true))),
        state("Limits", Kind::ReadMostly, None),
        state("PortPool", Kind::Singleton, None),
        state("Session", Kind::Keyed, Some(("FiveTuple", true))),
        state("TopTalkers", Kind::Commutative, None),
    ];
    graph.edges = vec![
        edge("meter", "TopTalkers", [false, true, false, false]),
        edge("meter", "Limits", [true, false, false, false]),
        edge("firewall", "Connection", [true, true, true, true]),
        edge("firewall", "Limits", [true, false, false, false]),
        edge("nat", "Session", [true, true, true, false]),
        edge("nat", "PortPool", [true, true, false, false]),
    ];
    graph
}

fn planned(graph: &Graph, sides: Sides) -> Plan {
    let decision = placement::run(graph, &Statement::of(sides)).expect("a decision");
    Plan::seal(decision, graph, 7)
}

fn stored(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/picture/stored").join(name);
    if std::env::var_os("CORA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("to make it");
        std::fs::write(&path, text).expect("to write it");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} differs from the stored picture:\n{text}");
}

/// The plan's hash changes with Cora's version, but the picture should not.
fn without_hash(picture: &str, plan: &Plan) -> String {
    picture.replace(&plan.hash, "0123456789abcdef")
}

#[test]
fn pictures_are_the_stored_ones() {
    let graph = gateway();
    let plan = planned(&graph, Sides::Split);
    stored("gateway.dot", &without_hash(&dot::draw(&graph, Some(&plan)), &plan));
    stored("gateway.mmd", &without_hash(&mermaid::draw(&graph, Some(&plan)), &plan));
    stored("gateway.svg", &without_hash(&svg::draw(&graph, Some(&plan)), &plan));
    stored("unplanned.svg", &svg::draw(&graph, None));
}

/// A program of messages: one that comes in datagrams, one that its handler sends to itself, one
/// from two handlers, one past a row between, an answer, and a timer that sends.
pub(crate) fn orders() -> Graph {
    let message = |name: &str, key: Option<&str>, udp: bool| MessageNode {
        name: name.to_owned(),
        path: format!("crate::{name}"),
        at: at(1),
        key: key.map(str::to_owned),
        wire: udp.then_some(WireForm { parse: false, port: None }),
        fields: Vec::new(),
    };
    let sent = |message: &str, how: How, many: bool| Sent {
        message: message.to_owned(),
        how,
        many,
        own_key: message == "Step",
        at: at(1),
    };
    let path =
        |sends: &[Sent], exit| graph::Path { accesses: Vec::new(), sends: sends.to_vec(), exit };
    let taking = |name: &str, takes: &str, states: &[&str], outboxes: &[&str]| HandlerNode {
        takes: Some(takes.to_owned()),
        outboxes: outboxes.iter().map(|it| (*it).to_owned()).collect(),
        ..handler(name, 1, states)
    };
    let mut graph = Graph::new("orders");
    graph.messages = vec![
        message("Answer", None, true),
        message("Note", Some("One"), false),
        message("Order", Some("u64"), true),
        message("Step", Some("u64"), false),
    ];
    graph.chain = vec![
        taking("order", "Order", &["Account"], &["Answer", "Step", "Note"]),
        taking("step", "Step", &["Account"], &["Step", "Note"]),
        taking("note", "Note", &["Totals"], &[]),
    ];
    let answer = sent("Answer", How::Reply, false);
    let (step, notes) = (sent("Step", How::Send, false), sent("Note", How::Send, true));
    graph.chain[0].paths = vec![
        path(&[answer.clone(), step.clone()], graph::Exit::Done),
        path(&[answer, notes.clone()], graph::Exit::Done),
        path(&[], graph::Exit::Drop),
    ];
    graph.chain[1].paths = vec![
        path(&[step], graph::Exit::Done),
        path(&[sent("Note", How::Send, false), notes], graph::Exit::Done),
    ];
    graph.chain[2].paths = vec![path(&[], graph::Exit::Done)];
    let mut tick = handler("tick", 9, &[]);
    tick.outboxes = vec!["Note".to_owned()];
    tick.paths = vec![path(&[sent("Note", How::Send, false)], graph::Exit::Unseen)];
    graph.timers = vec![TimerNode { period_ns: 1_000_000_000, node: tick }];
    graph.states = vec![
        state("Account", Kind::Keyed, Some(("u64", false))),
        state("Totals", Kind::Keyed, Some(("One", false))),
    ];
    graph.edges = vec![
        edge("order", "Account", [true, true, true, false]),
        edge("step", "Account", [true, true, false, false]),
        edge("note", "Totals", [true, true, true, false]),
    ];
    graph
}

#[test]
fn pictures_of_messages_are_the_stored_ones() {
    let graph = orders();
    let plan = planned(&graph, Sides::Split);
    stored("orders.dot", &without_hash(&dot::draw(&graph, Some(&plan)), &plan));
    stored("orders.mmd", &without_hash(&mermaid::draw(&graph, Some(&plan)), &plan));
    stored("orders.svg", &without_hash(&svg::draw(&graph, Some(&plan)), &plan));
    stored("orders.txt", &without_hash(&text::draw(&graph, Some(&plan)), &plan));
}

#[test]
fn sends_have_their_number_in_runs_that_do_not_drop() {
    let graph = orders();
    let labels: Vec<(&str, &str, String)> =
        graph.sendings().iter().map(|it| (it.handler, it.message, it.label())).collect();
    let expected = [
        ("order", "Answer", "replies 1"),
        ("order", "Step", "sends 0 to 1"),
        ("order", "Note", "sends 0 or more"),
        ("step", "Step", "sends 0 to 1"),
        ("step", "Note", "sends 0 or more"),
        ("tick", "Note", "sends 1"),
    ];
    assert_eq!(labels, expected.map(|(from, what, label)| (from, what, label.to_owned())));
}

#[test]
fn a_picture_of_nothing_is_a_wire() {
    let graph = Graph::new("<wire> & \"wire\"");
    for picture in [dot::draw(&graph, None), mermaid::draw(&graph, None), svg::draw(&graph, None)] {
        assert!(picture.contains("inside") && picture.contains("outside"), "{picture}");
    }
    assert!(svg::draw(&graph, None).contains("&lt;wire&gt; &amp; &quot;wire&quot;"));
    assert!(dot::draw(&graph, None).contains("\\\"wire\\\""));
}

#[test]
fn every_state_shows_its_place_in_words() {
    for sides in Sides::ALL {
        let mut graph = gateway();
        if sides == Sides::Dealt {
            graph.states[2].kind = Kind::PerBucket;
        }
        let plan = planned(&graph, sides);
        for picture in [
            dot::draw(&graph, Some(&plan)),
            mermaid::draw(&graph, Some(&plan)),
            svg::draw(&graph, Some(&plan)),
        ] {
            for place in plan.placement.places.values() {
                assert!(picture.contains(&format!("place: {place}")), "{sides}: {picture}");
            }
        }
    }
}
