//! Arrows of circles, which are allowed until they are gone: a line each, `crate: from → to`.

use std::collections::BTreeSet;
use std::path::Path;

use super::Drawing;

/// The file with them.
const ALLOWANCES: &str = "tests/golden/arrows.txt";

const HEAD: &str = "\
# Arrows of circles between the folders of a crate (`cargo xtask arrows`). None may be added, and
# those that are gone are taken out: `cargo xtask arrows --lower`.
";

/// A sentence for each arrow of a circle that is new, and for each that is gone.
pub(super) fn faults(root: &Path, drawing: &Drawing) -> Result<Vec<String>, String> {
    let allowed = read(root)?;
    let there = circular(drawing);
    let new =
        there.difference(&allowed).map(|arrow| format!("{arrow} is on a circle, and was not"));
    let gone = allowed.difference(&there);
    let gone = gone.map(|arrow| format!("{arrow} is gone: run `cargo xtask arrows --lower`"));
    Ok(new.chain(gone).collect())
}

/// Writes the arrows that are there, of those that were allowed.
pub(super) fn write(root: &Path, drawing: &Drawing) -> Result<(), String> {
    let (allowed, there) = (read(root)?, circular(drawing));
    let left = allowed.intersection(&there).map(|arrow| format!("{arrow}\n"));
    let text = HEAD.to_owned() + &left.collect::<String>();
    std::fs::write(root.join(ALLOWANCES), text).map_err(|error| format!("{ALLOWANCES}: {error}"))
}

fn read(root: &Path) -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(root.join(ALLOWANCES));
    let text = text.map_err(|error| format!("{ALLOWANCES}: {error}"))?;
    Ok(lines(&text))
}

fn lines(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn circular(drawing: &Drawing) -> BTreeSet<String> {
    let folders = drawing.folders.iter();
    let arrows = folders.flat_map(|(name, graph)| {
        graph.circular().into_iter().map(move |(from, to)| format!("{name}: {from} → {to}"))
    });
    arrows.collect()
}

#[cfg(test)]
mod tests {
    use super::{HEAD, circular, lines};
    use crate::arrows::Drawing;
    use crate::arrows::graph::Graph;

    #[test]
    fn a_line_is_an_arrow() {
        let mut rooms = Graph::default();
        rooms.add_arrow("exec", "half");
        rooms.add_arrow("half", "exec");
        rooms.add_arrow("half", "core");
        let drawing =
            Drawing { crates: Graph::default(), folders: vec![("core".to_owned(), rooms)] };
        let there = circular(&drawing);
        assert_eq!(there, lines(&format!("{HEAD}core: exec → half\ncore: half → exec\n")));
    }
}
