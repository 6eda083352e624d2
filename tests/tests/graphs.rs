//! Each example's state-flow graph and plan, kept as files, so that a reviewer sees every change of
//! a place.

use cora_build::script::graph_of;
use cora_plan::picture::{dot, mermaid, svg, text};
use cora_tests::golden::check;
use cora_tests::well_formed::well_formed;
use cora_tests::workshop::{EXAMPLES, OF_MESSAGES, root};

/// Removes the plan's hash: it covers every source text, so every comment changes it.
fn without_hash(text: &str, hash: &str) -> String {
    assert!(text.contains(hash), "no hash in:\n{text}");
    text.replace(hash, "<hash>")
}

/// Removes line numbers: every line above an item changes them.
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

/// The same for examples that take messages: pictures, and words for a terminal.
#[test]
fn those_of_messages_are_as_kept() {
    let mut wrong = Vec::new();
    for example in OF_MESSAGES {
        let (graph, plan) =
            graph_of(&root().join("examples").join(example), Some("split")).unwrap();
        let drawn = |draw: fn(&cora_plan::Graph, Option<&cora_plan::Plan>) -> String| {
            without_hash(&draw(&graph, Some(&plan)), &plan.hash)
        };
        let pieces = [
            (format!("graphs/{example}.mmd"), drawn(mermaid::draw)),
            (format!("graphs/{example}.dot"), drawn(dot::draw)),
            (format!("graphs/{example}.svg"), drawn(svg::draw)),
            (format!("graphs/{example}.txt"), drawn(text::draw)),
            (format!("graphs/{example}.json"), without_lines(&graph.to_json())),
        ];
        wrong.extend(pieces.iter().filter_map(|(name, text)| check(name, text).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The plans that the search finds for campus traffic at a BlueField-2, as data and as a picture.
/// So a reviewer sees every change of the model or of the search. Plans have the same bytes on
/// every machine.
#[test]
fn searched_plans_are_as_kept() {
    let statement = root().join("tests/plans/searched.toml");
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        let directory = root().join("examples").join(example);
        let (graph, plan) = graph_of(&directory, statement.to_str()).unwrap();
        assert!(plan.searched.is_some(), "{example} was not searched for");
        let pieces = [
            (format!("graphs/{example}.searched.json"), plan.to_json()),
            (format!("graphs/{example}.searched.svg"), svg::draw(&graph, Some(&plan))),
        ];
        let pieces = pieces.map(|(name, text)| (name, without_hash(&text, &plan.hash)));
        wrong.extend(pieces.iter().filter_map(|(name, text)| check(name, text).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An example's page draws the kept graph, and names each place of its plan.
#[test]
fn pages_show_them() {
    let read = |path: String| {
        let path = root().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    for example in EXAMPLES {
        let page = read(format!("examples/{example}/README.md"));
        let mermaid = read(format!("tests/golden/graphs/{example}.mmd"));
        assert!(page.contains(&mermaid), "{example}: the page draws another graph than is kept");
        let (_, plan) = graph_of(&root().join("examples").join(example), Some("split")).unwrap();
        for (state, place) in plan.placement.places {
            let row = format!("| `{state}` | {} |", place.word());
            assert!(page.contains(&row), "{example}: the page has no row {row}");
        }
    }
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
fn svg_is_well_formed() {
    for example in EXAMPLES.into_iter().chain(OF_MESSAGES) {
        let (graph, plan) = graph_of(&root().join("examples").join(example), None).unwrap();
        let elements = well_formed(&svg::draw(&graph, Some(&plan)));
        assert!(matches!(elements, Ok(11..)), "{example}: {elements:?}");
    }
}

#[test]
fn knows_what_is_not_well_formed() {
    assert_eq!(well_formed("<svg a=\"1\"><g><line/></g>a &amp; b</svg>\n"), Ok(3));
    for text in
        ["<svg><g></svg></g>", "<svg>", "<svg/><svg/>", "<svg>a & b</svg>", "<svg a=1/>", "x<svg/>"]
    {
        assert!(well_formed(text).is_err(), "{text}");
    }
}

/// A page with a graph shows the kept one.
#[test]
fn are_those_of_the_pages() {
    for example in EXAMPLES.into_iter().chain(OF_MESSAGES) {
        let page = root().join("examples").join(example).join("README.md");
        let Ok(page) = std::fs::read_to_string(page) else { continue };
        let golden = root().join(format!("tests/golden/graphs/{example}.mmd"));
        let golden = std::fs::read_to_string(golden).unwrap_or_default();
        let picture = golden.find("flowchart").and_then(|at| golden.get(at..)).expect("a picture");
        assert!(page.contains(picture), "examples/{example}/README.md shows another graph");
    }
}

#[test]
fn differ_where_plans_differ() {
    let nat = root().join("examples/nat");
    let places = ["host-only", "nic-only", "split"].map(|plan| {
        let (_, plan) = graph_of(&nat, Some(plan)).unwrap();
        (plan.placement.places, plan.hash)
    });
    assert!(
        places[0] != places[1] && places[1] != places[2] && places[0] != places[2],
        "{places:?}"
    );
}
