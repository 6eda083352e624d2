//! A drawing as text and as JSON.

use super::Drawing;
use super::graph::Graph;

/// All of it, for people.
pub(super) fn table(drawing: &Drawing) -> String {
    let mut text = house("crates", &drawing.crates);
    for (name, graph) in &drawing.folders {
        text.push_str(&house(name, graph));
    }
    text
}

fn house(name: &str, graph: &Graph) -> String {
    let (floors, arrows) = (graph.floors(), graph.arrows().count());
    let mut text = format!(
        "{name}: {} rooms on {} floors, {arrows} arrows, {} up\n",
        graph.rooms().count(),
        floors.len(),
        graph.upward().len()
    );
    for floor in floors.iter().rev() {
        text.extend(["    ", &floor.join("  "), "\n"]);
    }
    for (from, to) in graph.upward() {
        text.extend(["    up: ", from, " → ", to, "\n"]);
    }
    text
}

/// All of it, for scripts.
pub(super) fn json(drawing: &Drawing) -> String {
    let folders: Vec<String> = drawing
        .folders
        .iter()
        .map(|(name, graph)| format!("    {}: {}", quoted(name), object(graph)))
        .collect();
    format!(
        "{{\n  \"crates\": {},\n  \"folders\": {{\n{}\n  }}\n}}",
        object(&drawing.crates),
        folders.join(",\n")
    )
}

fn object(graph: &Graph) -> String {
    let edges = graph.arrows().map(|(from, to, times)| {
        format!("{{ \"from\": {}, \"to\": {}, \"times\": {times} }}", quoted(from), quoted(to))
    });
    let upward = graph.upward().into_iter();
    let upward = upward
        .map(|(from, to)| format!("{{ \"from\": {}, \"to\": {} }}", quoted(from), quoted(to)));
    let lists = |lists: Vec<Vec<&str>>| {
        let lists = lists.iter().map(|list| array(list.iter().map(|name| quoted(name))));
        array(lists)
    };
    format!(
        "{{ \"edges\": {}, \"floors\": {}, \"upward\": {}, \"circles\": {} }}",
        array(edges),
        lists(graph.floors()),
        array(upward),
        lists(graph.circles())
    )
}

fn array(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(", "))
}

/// Names of files and packages have nothing to escape but these.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::{json, table};
    use crate::arrows::Drawing;
    use crate::arrows::graph::Graph;

    #[test]
    fn both_forms_tell_floors_and_arrows_that_lead_up() {
        let mut crates = Graph::default();
        crates.add_arrow("host", "core");
        let mut rooms = Graph::default();
        rooms.add_arrow("exec", "half");
        rooms.add_arrow("half", "exec");
        rooms.add_arrow("half", "exec");
        let drawing = Drawing { crates, folders: vec![("core".to_owned(), rooms)] };
        let json = json(&drawing);
        for part in [
            "\"crates\": { \"edges\": [{ \"from\": \"host\", \"to\": \"core\", \"times\": 1 }]",
            "\"floors\": [[\"core\"], [\"host\"]]",
            "\"core\": { \"edges\": [",
            "\"upward\": [{ \"from\": \"exec\", \"to\": \"half\" }]",
            "\"circles\": [[\"exec\", \"half\"]]",
        ] {
            assert!(json.contains(part), "{part} in {json}");
        }
        let table = table(&drawing);
        assert!(table.contains("core: 2 rooms on 2 floors, 2 arrows, 1 up"), "{table}");
        assert!(table.contains("up: exec → half"), "{table}");
    }
}
