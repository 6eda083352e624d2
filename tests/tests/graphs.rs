//! Each example's state-flow graph and plan, kept as files: a change of where things live is a change that
//! a reviewer sees.

use cora_build::script::graph_of;
use cora_plan::picture::{dot, mermaid, svg};
use cora_tests::golden::check;
use cora_tests::workshop::{EXAMPLES, root};

/// The plan's hash covers every source text, so it changes with every comment: left out.
fn without_hash(text: &str, hash: &str) -> String {
    assert!(text.contains(hash), "no hash in:\n{text}");
    text.replace(hash, "<hash>")
}

/// Where things stand in the source changes with every line above them: left out.
fn without_lines(json: &str) -> String {
    let lines = json.lines().filter(|line| !line.trim_start().starts_with("\"line\":"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn are_as_kept() {
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        let (graph, plan) =
            graph_of(&root().join("examples").join(example), Some("split")).unwrap();
        let mermaid = without_hash(&mermaid::draw(&graph, Some(&plan)), &plan.hash);
        let pieces = [
            (format!("graphs/{example}.mmd"), mermaid),
            (format!("graphs/{example}.json"), without_lines(&graph.to_json())),
            (format!("graphs/{example}.plan.json"), without_hash(&plan.to_json(), &plan.hash)),
        ];
        wrong.extend(pieces.iter().filter_map(|(name, text)| check(name, text).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn come_out_the_same_twice() {
    for example in EXAMPLES {
        let draw = || {
            let (graph, plan) = graph_of(&root().join("examples").join(example), None).unwrap();
            let pictures =
                [dot::draw, mermaid::draw, svg::draw].map(|draw| draw(&graph, Some(&plan)));
            (graph.to_json(), plan.to_json(), pictures)
        };
        assert_eq!(draw(), draw(), "{example}");
    }
}

#[test]
fn differ_where_plans_differ() {
    let nat = root().join("examples/nat");
    let places = ["host-only", "nic-only", "split"].map(|plan| {
        let (_, plan) = graph_of(&nat, Some(plan)).unwrap();
        (plan.places, plan.hash)
    });
    assert!(
        places[0] != places[1] && places[1] != places[2] && places[0] != places[2],
        "{places:?}"
    );
}
