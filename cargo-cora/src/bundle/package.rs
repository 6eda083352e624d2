//! Statements, graph and plan of a package.

use cora_build::script;

use super::Part;
use crate::package::Package;

/// The package's statements, and the graph and the plan that a build makes of it.
pub(super) fn parts(named: &str) -> [Part; 3] {
    let directory = Package::of(named).and_then(|package| package.directory());
    let directory = directory.map_err(|why| why.to_string());
    let stated = directory.clone().and_then(|at| {
        std::fs::read_to_string(at.join("cora.toml")).map_err(|error| error.to_string())
    });
    let made = directory.and_then(|at| script::graph_of(&at, None));
    let (graph, plan) = match made {
        Ok((graph, plan)) => (Ok(graph.to_json()), Ok(plan.to_json())),
        Err(why) => (Err(why.clone()), Err(why)),
    };
    [
        Part::new("package/cora.toml", "the package's statements on its plan", stated),
        Part::new("package/graph.json", "the graph of its program, as a build reads it", graph),
        Part::new("package/plan.json", "the plan that a build of it carries", plan),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_and_plan_are_read_without_a_build() {
        let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs/ledger");
        for part in &parts(ledger)[1..] {
            let text = part.content.as_deref().unwrap_or_else(|why| panic!("{}: {why}", part.name));
            assert!(text.starts_with('{'), "{}: {text}", part.name);
        }
    }

    #[test]
    fn a_package_that_is_not_there_is_told_with_the_reason() {
        for part in parts("./nowhere") {
            assert!(part.content.is_err_and(|why| why.contains("no Cargo.toml")), "{}", part.name);
        }
    }
}
