//! A NAT, its traffic and a small NIC, for tests.

use crate::figure::Figure;
use crate::graph::{
    Access, Does, Exit, Field, Graph, HandlerNode, Keyed, Parameter, Path, SourcePlace, StateNode,
};
use crate::nic::{Cache, FlowTable, Link, NicProfile, Port, Rule, Tier};
use crate::traffic::{Bin, Class, Traffic};
use crate::vocabulary::{Kind, Replies};

fn at() -> SourcePlace {
    SourcePlace { file: "src/main.rs".to_owned(), line: 1, column: 1 }
}

fn access(state: &str, does: Does) -> Access {
    let key = (state == "Session").then(|| "&flow".to_owned());
    Access { state: state.to_owned(), does, key, many: false, after_write: false, at: at() }
}

fn path(accesses: &[(&str, Does)], exit: Exit) -> Path {
    let accesses = accesses.iter().map(|(state, does)| access(state, *does)).collect();
    Path { accesses, sends: Vec::new(), exit }
}

/// A state with one field.
pub(crate) fn state(name: &str, kind: Kind, key: Option<&str>, field: &str) -> StateNode {
    StateNode {
        name: name.to_owned(),
        path: format!("crate::{name}"),
        at: at(),
        kind,
        keyed: key.map(|key| Keyed {
            key: key.to_owned(),
            reply: true,
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
        }),
        rows: None,
        objects: None,
        region: None,
        durable: false,
        merged: false,
        fields: vec![Field { name: "value".to_owned(), type_text: field.to_owned() }],
    }
}

/// Sessions by flow, and a port pool for new sessions and a few others.
pub(crate) fn nat() -> Graph {
    let mut graph = Graph::new("nat");
    graph.states = vec![
        state("PortPool", Kind::Singleton, None, "[u32; 32_768]"),
        state("Session", Kind::Keyed, Some("FiveTuple"), "u64"),
    ];
    // Flows come by the hundred thousand a second, so entries must go as fast.
    if let Some(session) = &mut graph.states[1].keyed {
        (session.capacity, session.idle_ns) = (8_000_000, 500_000_000);
    }
    let parameter = |name: &str, state: &str| Parameter {
        name: name.to_owned(),
        state: state.to_owned(),
        mutable: true,
    };
    graph.chain = vec![HandlerNode {
        name: "nat".to_owned(),
        path: "crate::nat".to_owned(),
        at: at(),
        headers: false,
        at_host: false,
        sends: false,
        takes: None,
        outboxes: Vec::new(),
        parameters: vec![parameter("sessions", "Session"), parameter("ports", "PortPool")],
        paths: vec![
            path(&[], Exit::Drop),
            path(&[("Session", Does::Write)], Exit::Transmit),
            path(&[("Session", Does::Write), ("PortPool", Does::Write)], Exit::Transmit),
            path(
                &[("Session", Does::Write), ("PortPool", Does::Write), ("Session", Does::Insert)],
                Exit::Transmit,
            ),
        ],
        opaque: Vec::new(),
    }];
    graph
}

/// A class of one bin.
pub(crate) fn class(name: &str, flows: f64, share: f64, opens: f64) -> Class {
    let bins = vec![Bin { flows, share }];
    let (name, seconds) = (name.to_owned(), None);
    Class { name, flows, share, opens, seconds, mean_bytes: 64.0, head_bytes: 64.0, bins }
}

/// A few heavy flows, and many short ones.
pub(crate) fn traffic() -> Traffic {
    let classes =
        vec![class("the top 100", 100.0, 0.6, 0.000_1), class("the rest", 20_000.0, 0.4, 0.2)];
    Traffic {
        name: "sample".to_owned(),
        title: "for tests".to_owned(),
        mean_bytes: 64.0,
        mpps: None,
        by_key: [("FiveTuple".to_owned(), classes)].into(),
    }
}

fn figure(value: f64) -> Figure {
    Figure::assumed(value, "a test")
}

fn tier(core: &str, cores: f64, instruction_ns: f64) -> Tier {
    let cache = |bytes: f64, latency: f64, shared_by: f64| Cache {
        bytes: figure(bytes),
        latency_ns: figure(latency),
        shared_by: figure(shared_by),
    };
    Tier {
        core: core.to_owned(),
        cores: figure(cores),
        busy: figure(0.9),
        instruction_ns: figure(instruction_ns),
        mispredict_ns: figure(20.0 * instruction_ns),
        packet_ns: figure(20.0),
        byte_ns: figure(0.05),
        caches: vec![
            cache(32_768.0, 2.0, 1.0),
            cache(1_048_576.0, 8.0, 2.0),
            cache(8_388_608.0, 25.0, cores),
        ],
        memory_ns: figure(120.0),
        exposed: figure(0.5),
        insert_ns: figure(40.0),
        remove_ns: figure(30.0),
        state_bytes: figure(4e9),
    }
}

/// A NIC with eight slow cores in a host with four fast ones.
pub(crate) fn nic() -> NicProfile {
    NicProfile {
        name: "sample".to_owned(),
        title: "for tests".to_owned(),
        nic: tier("slow", 8.0, 0.4),
        host: tier("fast", 4.0, 0.1),
        port: Some(Port {
            gbps: figure(100.0),
            mpps: figure(200.0),
            pcie_gbps: figure(120.0),
            host_ns: figure(10.0),
        }),
        link: Link {
            nic_ns: figure(40.0),
            host_ns: figure(30.0),
            byte_ns: figure(0.05),
            owner_ns: figure(0.0),
            owner_exposed: figure(0.0),
            mpps: figure(100.0),
            gbps: figure(200.0),
            nic_move_ns: figure(400.0),
            host_move_ns: figure(400.0),
            fetch_ns: None,
        },
        flow_table: Some(FlowTable {
            entries: figure(10_000.0),
            inserts_per_s: figure(2_000.0),
            expresses: vec![Rule::Steer, Rule::Drop],
        }),
    }
}
