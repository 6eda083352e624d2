//! Compares pictures with stored ones: `CORA_BLESS=1 cargo test -p cora-plan` rewrites them.

use std::path::Path;

use super::*;
use crate::graph::{Edge, Field, HandlerNode, Keyed, Opaque, Parameter, SourcePlace};
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
