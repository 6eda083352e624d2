//! The packages of the workspace, as cargo sees them and as ARCHITECTURE.md draws them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::source::{File, root};

/// A member of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// The text of its Cargo.toml.
    pub(crate) manifest: String,
    /// The root files of its library and its binaries.
    pub(crate) roots: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) is_example: bool,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
    pub(crate) default_features: bool,
    is_optional: bool,
    is_ours: bool,
    is_for_tests: bool,
}

/// A dependency between two packages of ours, other than for tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: String,
    to: String,
    behind_feature: bool,
}

impl Package {
    fn of(package: &Value) -> Self {
        let manifest = text(&package["manifest_path"]);
        let targets = list(&package["targets"]).iter();
        let crates = targets.filter(|target| {
            list(&target["kind"]).iter().any(|it| ["lib", "proc-macro", "bin"].contains(&text(it)))
        });
        Self {
            name: text(&package["name"]).to_owned(),
            manifest: File::read(&local(manifest)).text,
            roots: crates.map(|target| local(text(&target["src_path"]))).collect(),
            dependencies: list(&package["dependencies"]).iter().map(Dependency::of).collect(),
            is_example: local(manifest).starts_with("examples/"),
        }
    }

    pub(crate) fn arrows(&self) -> impl Iterator<Item = Arrow> {
        let ours = self.dependencies.iter().filter(|it| it.is_ours && !it.is_for_tests);
        ours.map(|it| Arrow {
            from: self.name.clone(),
            to: it.name.clone(),
            behind_feature: it.is_optional,
        })
    }
}

impl Dependency {
    fn of(dependency: &Value) -> Self {
        let features = list(&dependency["features"]).iter();
        Self {
            name: text(&dependency["name"]).to_owned(),
            features: features.map(|feature| text(feature).to_owned()).collect(),
            default_features: dependency["uses_default_features"] == true,
            is_optional: dependency["optional"] == true,
            is_ours: dependency["path"].is_string(),
            is_for_tests: dependency["kind"] == "dev",
        }
    }
}

pub(crate) fn packages() -> Vec<Package> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata is JSON");
    list(&metadata["packages"]).iter().map(Package::of).collect()
}

/// Returns the arrows that ARCHITECTURE.md draws.
pub(crate) fn arrows() -> BTreeSet<Arrow> {
    let page = File::read("ARCHITECTURE.md").text;
    let (_, after) = page.split_once("\nArrows").expect("a paragraph about arrows");
    let block = after.split("```").nth(1).expect("a drawing");
    let examples = packages().into_iter().filter(|package| package.is_example);
    let examples: Vec<String> = examples.map(|package| package.name).collect();
    let room = |name: &str| match name.trim() {
        "examples" => examples.clone(),
        "tests" => vec!["cora-tests".to_owned()],
        name => vec![name.to_owned()],
    };
    let lines = block.lines().filter_map(|line| line.split_once('→'));
    let lines = lines.map(|(from, to)| (from, to.split('(').next().unwrap_or(to)));
    lines
        .flat_map(|(from, to)| {
            let sources: Vec<String> = from.split(',').flat_map(room).collect();
            ends(to).into_iter().flat_map(move |(to, behind_feature)| {
                let arrow = move |from: &String| Arrow {
                    from: from.clone(),
                    to: to.clone(),
                    behind_feature,
                };
                sources.iter().map(arrow).collect::<Vec<_>>()
            })
        })
        .collect()
}

/// Reads `a, [feature f, not there] b` as `a`, and `b` behind a feature.
fn ends(text: &str) -> BTreeMap<String, bool> {
    let mut ends = BTreeMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let note = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
        let after = note.map_or(rest, |(_, after)| after);
        let (name, next) = after.split_once(',').unwrap_or((after, ""));
        let is_feature = note.is_some_and(|(note, _)| note.starts_with("feature"));
        ends.insert(name.trim().to_owned(), is_feature);
        rest = next.trim();
    }
    ends
}

pub(crate) fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(arguments).current_dir(root()).output();
    let output = output.expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// Returns a path relative to the repository.
fn local(path: &str) -> String {
    let inside = Path::new(path).strip_prefix(root()).expect("a path inside the repository");
    inside.to_string_lossy().into_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
