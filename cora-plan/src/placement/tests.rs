//! Every rule and every refusal.

use super::*;
use crate::graph::{
    Edge, HandlerNode, Keyed, Parameter, Region, SourcePlace, StateNode, TimerNode,
};
use crate::vocabulary::Replies;

fn keyed(name: &str, key: &str, reply: bool) -> StateNode {
    let keyed = Keyed {
        key: key.to_owned(),
        reply,
        capacity: 16,
        idle_ns: 1,
        life_ns: None,
        replies: Replies::Reversed,
        bucket: None,
        idle_by: false,
        within: None,
        durable: false,
        recorded: false,
        on_expire: None,
    };
    StateNode { keyed: Some(keyed), ..plain(name, Kind::Keyed) }
}

fn plain(name: &str, kind: Kind) -> StateNode {
    let at = SourcePlace { file: "src/main.rs".to_owned(), line: 1, column: 1 };
    StateNode {
        name: name.to_owned(),
        path: format!("crate::{name}"),
        at,
        kind,
        keyed: None,
        rows: None,
        objects: None,
        region: None,
        durable: false,
        merged: false,
        fields: Vec::new(),
    }
}

/// A program of one handler, `nf`, that uses all the states.
fn program(states: impl IntoIterator<Item = StateNode>) -> Graph {
    let mut graph = Graph::new("test");
    graph.states = states.into_iter().collect();
    let parameters = graph
        .states
        .iter()
        .map(|state| Parameter {
            name: state.name.to_lowercase(),
            state: state.name.clone(),
            mutable: true,
        })
        .collect();
    let at = SourcePlace { file: "src/main.rs".to_owned(), line: 1, column: 1 };
    graph.chain.push(HandlerNode {
        name: "nf".to_owned(),
        path: "crate::nf".to_owned(),
        at,
        headers: false,
        at_host: false,
        sends: false,
        takes: None,
        outboxes: Vec::new(),
        parameters,
        paths: Vec::new(),
        opaque: Vec::new(),
    });
    graph
}

fn every_kind() -> Graph {
    program([
        plain("Backends", Kind::ReadMostly),
        plain("Ports", Kind::Singleton),
        keyed("Session", "FiveTuple", true),
        plain("Sketch", Kind::Commutative),
    ])
}

fn decide(graph: &Graph, toml: &str) -> Placement {
    let statement = Statement::parse(toml).expect("a statement");
    run(graph, &statement).expect("a decision")
}

fn refusals(graph: &Graph, toml: &str) -> Vec<String> {
    let statement = Statement::parse(toml).expect("a statement");
    let errors = run(graph, &statement).expect_err("a refusal");
    errors.iter().map(|error| format!("{error}; {}", error.cure())).collect()
}

fn places(decision: &Placement) -> Vec<Place> {
    decision.places.values().copied().collect()
}

#[test]
fn each_kind_has_its_place() {
    use Place::{Host, Nic, Replica, Travels};
    let graph = every_kind();
    let host = decide(&graph, "[plan]\nuse = \"host-only\"");
    assert_eq!(places(&host), [Host; 4]);
    assert_eq!((host.nic_share, host.host_ordered, host.stateless_flows), (0, false, true));
    let nic = decide(&graph, "[plan]\nuse = \"nic-only\"");
    assert_eq!(places(&nic), [Replica, Nic, Travels, Replica]);
    assert_eq!((nic.nic_share, nic.host_ordered, nic.stateless_flows), (1024, false, false));
    let split = decide(&graph, "");
    assert_eq!(places(&split), [Replica, Host, Travels, Replica]);
    assert_eq!((split.nic_share, split.host_ordered, split.stateless_flows), (1024, true, false));
    assert_eq!((split.group.as_str(), split.group_of.as_deref()), ("FiveTuple", Some("Session")));
    for decision in [host, nic, split] {
        assert_eq!(decision.reasons.len(), 4, "every state has its reason");
    }
}

/// States that `dealt` takes, of every kind that it has a place for.
fn divisible() -> Graph {
    program([
        plain("Backends", Kind::ReadMostly),
        plain("Ports", Kind::PerBucket),
        keyed("Session", "FiveTuple", true),
        plain("Sketch", Kind::Commutative),
    ])
}

#[test]
fn buckets_are_dealt_with_their_states() {
    use Place::{Divided, Replica, Travels};
    let graph = divisible();
    for (toml, buckets) in [("", 128), ("nic-buckets = 0", 0), ("nic-buckets = 256", 256)] {
        let dealt = decide(&graph, &format!("[plan]\nuse = \"dealt\"\n{toml}"));
        assert_eq!(places(&dealt), [Replica, Divided, Travels, Replica]);
        assert_eq!((dealt.nic_buckets, dealt.nic_share, dealt.host_ordered), (buckets, 0, false));
        assert_eq!(dealt.group_of.as_deref(), Some("Session"));
        assert_eq!(dealt.reasons["Ports"], "each side has the values of its own buckets");
    }
    for plan in ["split", "host-only", "nic-only"] {
        let other = decide(&graph, &format!("[plan]\nuse = \"{plan}\""));
        assert_eq!(other.nic_buckets, 0, "{plan}");
    }
}

#[test]
fn what_keeps_a_program_on_one_shard_cannot_be_dealt() {
    let told = |graph: &Graph| refusals(graph, "[plan]\nuse = \"dealt\"");
    let one_shard = |graph: &Graph| decide(graph, "[plan]\nuse = \"host-only\"").one_shard;
    let mut chosen = program([keyed("Session", "FiveTuple", true)]);
    chosen.states[0].keyed.as_mut().expect("keyed").replies = Replies::Any;
    let apart =
        program([keyed("A", "SourceAddress", false), keyed("B", "DestinationAddress", false)]);
    for graph in [every_kind(), chosen, apart] {
        let (told, why) = (told(&graph), one_shard(&graph));
        assert_eq!(told.len(), 1, "{told:?}");
        let (state, why) = why.first_key_value().expect("a state");
        let refused = format!("`{state}` can't be dealt by bucket: {why}; ");
        assert!(told[0].starts_with(&refused), "{told:?}");
    }
}

#[test]
fn under_dealt_only_buckets_are_stated() {
    let told = refusals(
        &divisible(),
        "[plan]\nuse = \"dealt\"\nnic-share = 0.5\n[plan.places]\nSession = \"host\"\n",
    );
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("each side holds what its buckets need"), "{told:?}");
    assert!(told[1].contains("`nic-buckets` says how many"), "{told:?}");
    let split = refusals(&divisible(), "[plan.places]\nPorts = \"divided\"\n");
    assert_eq!(split.len(), 1, "{split:?}");
    assert!(split[0].contains("can't be placed as `divided`"), "{split:?}");
}

#[test]
fn stated_places_replace_those_of_the_kind() {
    let graph = every_kind();
    let decision = decide(&graph, "[plan.places]\nSession = \"host\"\nBackends = \"host\"\n");
    assert_eq!(places(&decision), [Place::Host, Place::Host, Place::Host, Place::Replica]);
    assert!(decision.stateless_flows);
    assert_eq!((decision.group.as_str(), decision.group_of.as_deref()), ("FiveTuple", None));
    assert_eq!(
        decision.reasons["Session"],
        "line 2 of the plan says so; NIC-side paths of `nf` that reach it punt"
    );
}

#[test]
fn only_a_state_whose_order_shows_orders_the_host() {
    let readers = program([plain("Backends", Kind::ReadMostly)]);
    assert!(!decide(&readers, "[plan.places]\nBackends = \"host\"").host_ordered);
    let pool = program([plain("Ports", Kind::Singleton)]);
    assert!(decide(&pool, "").host_ordered);
    assert!(!decide(&pool, "[plan]\nuse = \"nic-only\"").host_ordered);
    let mut sessions = program([keyed("Session", "FiveTuple", true)]);
    assert!(!decide(&sessions, "").host_ordered);
    sessions.states[0].keyed.as_mut().expect("keyed").replies = Replies::Any;
    assert!(decide(&sessions, "").host_ordered, "a chosen reply key");
    assert!(!decide(&sessions, "[plan]\nuse = \"nic-only\"").host_ordered);
}

#[test]
fn the_share_counts_of_1024() {
    let graph = every_kind();
    for (share, of_1024) in [("0", 0), ("0.5", 512), ("0.0004", 0), ("0.001", 1), ("1.0", 1024)] {
        let toml = format!("[plan]\nnic-share = {share}");
        assert_eq!(decide(&graph, &toml).nic_share, of_1024, "{share}");
    }
}

#[test]
fn the_group_is_the_coarsest_key() {
    for (a, b, coarsest) in [
        (keyed("A", "FiveTuple", false), keyed("B", "SourceAddress", false), "B"),
        (keyed("A", "DestinationAddress", false), keyed("B", "FiveTuple", false), "A"),
        (keyed("A", "FiveTuple", true), keyed("B", "InsideAddress", false), "B"),
        (keyed("A", "FiveTuple", true), keyed("B", "FiveTuple", false), "A"),
        (keyed("A", "Tenant", false), keyed("B", "Tenant", false), "A"),
    ] {
        let group = decide(&program([a, b]), "").group_of;
        assert_eq!(group.as_deref(), Some(coarsest));
    }
}

/// The group does not depend on the plan, so it also holds if entries of the address don't travel.
#[test]
fn flows_are_grouped_by_an_address_that_packets_of_all_entries_share() {
    let grouped = |graph: &Graph| group_of_program(graph).map(|state| state.name.clone());
    for (a, b, by) in [
        (keyed("A", "FiveTuple", true), keyed("B", "InsideAddress", false), Some("B")),
        (keyed("A", "FiveTuple", false), keyed("B", "SourceAddress", false), Some("B")),
        (keyed("A", "DestinationAddress", false), keyed("B", "FiveTuple", false), Some("A")),
        (keyed("A", "SourceAddress", false), keyed("B", "SourceAddress", false), Some("A")),
        (keyed("A", "FiveTuple", true), keyed("B", "FiveTuple", true), None),
        (keyed("A", "FiveTuple", true), keyed("B", "SourceAddress", false), None),
        (keyed("A", "InsideAddress", false), keyed("B", "SourceAddress", false), None),
        (keyed("A", "Tenant", false), keyed("B", "Tenant", false), None),
    ] {
        let mut graph = program([a, b]);
        assert_eq!(grouped(&graph).as_deref(), by);
        // A reply key that a handler chooses belongs to another group.
        for state in &mut graph.states {
            state.keyed.as_mut().expect("keyed").replies = Replies::Any;
        }
        assert_eq!(grouped(&graph), None);
    }
    assert_eq!(grouped(&program([plain("C", Kind::Singleton)])), None);
}

#[test]
fn entries_that_cannot_move_together_are_refused() {
    for (a, b) in [
        (keyed("A", "SourceAddress", false), keyed("B", "DestinationAddress", false)),
        (keyed("A", "SourceAddress", false), keyed("B", "FiveTuple", true)),
        (keyed("A", "FiveTuple", true), keyed("B", "DestinationAddress", false)),
        (keyed("A", "InsideAddress", false), keyed("B", "SourceAddress", false)),
        (keyed("A", "Tenant", false), keyed("B", "FiveTuple", false)),
    ] {
        let graph = program([a, b]);
        let told = refusals(&graph, "");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("`A` and `B` can't both travel: "), "{told:?}");
        assert!(told[0].contains("`B = \"host\"`"), "{told:?}");
        // It is allowed if the state is pinned, or with one side alone.
        decide(&graph, "[plan.places]\nB = \"host\"");
        decide(&graph, "[plan]\nuse = \"nic-only\"");
    }
}

#[test]
fn a_translated_reply_has_another_inside_address() {
    let mut graph = program([keyed("A", "FiveTuple", true), keyed("B", "InsideAddress", false)]);
    decide(&graph, "");
    for state in &mut graph.states {
        state.keyed.as_mut().expect("keyed").replies =
            if state.name == "A" { Replies::Any } else { Replies::Reversed };
    }
    let told = refusals(&graph, "");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("rewritten"), "{told:?}");
    decide(&graph, "[plan.places]\nB = \"host\"");
}

#[test]
fn two_fine_keys_below_no_common_one_are_refused_as_a_pair() {
    let graph = program([
        keyed("A", "FiveTuple", false),
        keyed("B", "SourceAddress", false),
        keyed("C", "DestinationAddress", false),
    ]);
    let told = refusals(&graph, "");
    assert_eq!(told.len(), 1, "A goes with either: {told:?}");
    assert!(told[0].starts_with("`B` and `C`"), "{told:?}");
}

#[test]
fn states_that_packets_of_several_groups_reach_keep_the_program_on_one_shard() {
    let one_shard = |graph: &Graph, toml: &str| -> Vec<(String, String)> {
        decide(graph, toml).one_shard.into_iter().collect()
    };
    let names = |graph: &Graph, toml: &str| -> Vec<String> {
        one_shard(graph, toml).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&every_kind(), ""), ["Ports"], "a singleton");
    let mut sessions = program([keyed("Session", "FiveTuple", true)]);
    assert_eq!(names(&sessions, ""), [""; 0]);
    sessions.states[0].keyed.as_mut().expect("keyed").replies = Replies::Any;
    let [(name, why)] = &one_shard(&sessions, "")[..] else { panic!("a chosen reply key") };
    assert!(name == "Session" && why.contains("choose the keys of replies"), "{name}: {why}");

    // A coarser key suits if it steers packets, but not if its state is pinned.
    let sources = program([keyed("A", "FiveTuple", false), keyed("B", "SourceAddress", false)]);
    assert_eq!(names(&sources, ""), [""; 0]);
    assert_eq!(names(&sources, "[plan]\nuse = \"host-only\""), [""; 0]);
    let pinned = one_shard(&sources, "[plan.places]\nB = \"host\"");
    assert_eq!(pinned.len(), 1);
    assert!(pinned[0].1.starts_with("packets are steered by `FiveTuple`, and packets that share"));
    assert!(pinned[0].1.contains("(by `SourceAddress`)"), "{pinned:?}");

    // If nothing moves, any group suits ownership, but not steering.
    let apart =
        program([keyed("A", "SourceAddress", false), keyed("B", "DestinationAddress", false)]);
    for sides in ["host-only", "nic-only"] {
        assert_eq!(names(&apart, &format!("[plan]\nuse = \"{sides}\"")), ["B"], "{sides}");
    }
}

#[test]
fn what_decides_buckets_follows_from_the_replies() {
    let with = |replies: [Replies; 2], bucket: Option<BucketsBy>, second: &str| {
        let mut graph =
            program([keyed("A", "FiveTuple", true), keyed("B", second, second == "FiveTuple")]);
        for (state, replies) in graph.states.iter_mut().zip(replies) {
            state.keyed.as_mut().expect("keyed").replies = replies;
        }
        graph.states[0].keyed.as_mut().expect("keyed").bucket = bucket;
        let placement = decide(&graph, "[plan]\nuse = \"host-only\"");
        (placement.buckets_by, placement.one_shard.into_keys().collect::<Vec<_>>())
    };
    use BucketsBy::{Group, InsidePort, Ports};
    use Replies::{Any, BucketPort, Reversed, SamePorts};
    let none = Vec::<String>::new;
    let of = |name: &str| vec![name.to_owned()];
    let flow = "FiveTuple";
    assert_eq!(with([Reversed, Reversed], None, flow), (Group, none()));
    assert_eq!(with([SamePorts, Reversed], None, flow), (Ports, none()));
    assert_eq!(with([BucketPort, SamePorts], Some(InsidePort), flow), (InsidePort, none()));
    assert_eq!(with([BucketPort, Any], Some(InsidePort), flow), (InsidePort, of("B")));
    assert_eq!(with([SamePorts, Any], None, flow).0, Group);
    // Packets of one source have many ports.
    let sources = "SourceAddress";
    assert_eq!(with([BucketPort, Reversed], Some(InsidePort), sources), (InsidePort, of("B")));
    assert_eq!(with([SamePorts, Reversed], None, sources).0, Group);
    let mut pool = program([plain("Pool", Kind::PerBucket)]);
    pool.states.push(keyed("A", "FiveTuple", true));
    let placement = decide(&pool, "");
    assert_eq!((placement.places["Pool"], placement.one_shard.len()), (Place::Host, 0));
}

#[test]
fn a_timer_runs_at_hosts_of_any_number_of_shards() {
    let mut graph = program([plain("Meter", Kind::PerBucket), plain("Sketch", Kind::Commutative)]);
    let node = HandlerNode { name: "fill".to_owned(), ..graph.chain[0].clone() };
    graph.timers.push(TimerNode { period_ns: 1_000_000_000, node });
    for sides in ["split", "host-only"] {
        assert!(decide(&graph, &format!("[plan]\nuse = \"{sides}\"")).one_shard.is_empty());
    }
    let why = &decide(&graph, "[plan]\nuse = \"nic-only\"").one_shard["fill"];
    assert!(why.contains("the NIC core of each shard would run it"), "{why}");
    graph.states.push(plain("Ports", Kind::Singleton));
    assert_eq!(decide(&graph, "").one_shard.into_keys().collect::<Vec<_>>(), ["Ports"]);
}

#[test]
fn a_region_is_at_the_host_for_messages_of_any_flow() {
    let mut graph = program([plain("Node", Kind::Singleton)]);
    graph.states[0].region = Some(Region { length: 16 });
    let placement = decide(&graph, "");
    assert_eq!(placement.places["Node"], Place::Host);
    let why = &placement.reasons["Node"];
    assert!(why.starts_with("its items are for messages of any flow, and the side"), "{why}");
    assert!(placement.one_shard["Node"].starts_with("its items are for messages of every flow"));
    let refused = refusals(&graph, "[plan.places]\nNode = \"replica\"");
    assert!(refused[0].contains("its items are for messages of any flow"), "{refused:?}");
    let fetched = decide(&graph, "[plan.places]\nNode = \"fetched\"");
    assert_eq!(fetched.places["Node"], Place::Fetched);
    assert!(fetched.reasons["Node"].contains("the NIC reads copies"), "{:?}", fetched.reasons);
    assert!(!fetched.host_ordered, "what the NIC reads is of no order with the host's writes");
    graph.states.push(plain("Ports", Kind::Singleton));
    assert!(!refusals(&graph, "[plan.places]\nPorts = \"fetched\"").is_empty());
    graph.states.pop();
    assert_eq!(decide(&graph, "[plan]\nuse = \"nic-only\"").places["Node"], Place::Nic);
}

#[test]
fn a_replica_that_is_read_keeps_the_program_on_one_shard() {
    let mut graph = program([plain("Sketch", Kind::Commutative)]);
    let mut edge = Edge {
        handler: "nf".to_owned(),
        state: "Sketch".to_owned(),
        reads: false,
        writes: true,
        inserts: false,
        removes: false,
    };
    graph.edges.push(edge.clone());
    assert!(decide(&graph, "").one_shard.is_empty(), "it is only added to");
    edge.reads = true;
    graph.edges.push(edge);
    let why = &decide(&graph, "").one_shard["Sketch"];
    assert!(why.starts_with("`nf` may read it"), "{why}");
}

#[test]
fn steering_has_a_key_where_ownership_needs_none() {
    let sources = program([keyed("A", "FiveTuple", false), keyed("B", "SourceAddress", false)]);
    let host = decide(&sources, "[plan]\nuse = \"host-only\"");
    assert_eq!((host.group.as_str(), host.group_of.as_deref()), ("SourceAddress", Some("B")));
    assert!(host.stateless_flows, "no flow moves");
}

#[test]
fn all_refusals_are_told_at_once() {
    let told = refusals(
        &every_kind(),
        "[plan.places]\nSesion = \"host\"\nPorts = \"nic\"\nSketch = \"host\"\n\
         Session = \"replica\"\nBackends = \"travels\"\n",
    );
    assert_eq!(
        told,
        [
            "`Backends` is read-mostly and can't be placed as `travels`: it belongs to no flow, so \
             there is nothing to travel with; write `replica` or `host`, or remove the line",
            "`Ports` can't be pinned to the NIC under `split`: the host side runs handlers that \
             need it; place `Ports` as `host`, or run everything at the NIC with \
             `use = \"nic-only\"`; it is used by `nf`",
            "the program has no state `Sesion`; did you mean `Session`?",
            "`Session` is keyed and can't be placed as `replica`: an entry has one owner at a \
             time; write `travels` or `host`, or remove the line",
            "`Sketch` is commutative and can't be placed as `host`: each side updates its own \
             replica, and reports merge them; write `replica`, or remove the line",
        ]
    );
}

#[test]
fn with_one_side_there_is_nothing_to_state() {
    let told = refusals(
        &every_kind(),
        "[plan]\nuse = \"host-only\"\nnic-share = 0.5\n[plan.places]\nSession = \"travels\"\n",
    );
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("one side holds every state"), "{told:?}");
    assert!(told[1].contains("one side owns every flow"), "{told:?}");
    // A statement may repeat the default.
    decide(&every_kind(), "[plan]\nuse = \"host-only\"\n[plan.places]\nSession = \"host\"\n");
}
