//! Packages from outside, against deny.toml: their licences, and duplicates.
//!
//! cargo-deny checks the same file by more rules, and takes longer to install. This needs only
//! cargo.

use std::collections::{BTreeMap, BTreeSet};

use crate::packages::cargo;
use crate::source::File;

/// A package in the tree of the workspace.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Foreign {
    pub(crate) name: String,
    pub(crate) version: String,
    licence: String,
}

impl Foreign {
    /// Reads `name v1.2.3|MIT OR Apache-2.0`; `None` for packages of the workspace, which have a
    /// path behind the version.
    fn read(line: &str) -> Option<Self> {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?);
        let is_ours = words.any(|word| word.starts_with("(/"));
        let [name, version, licence] = [name, version, licence].map(str::to_owned);
        (!is_ours).then_some(Self { name, version, licence })
    }

    /// Returns whether its licence is allowed.
    pub(crate) fn is_allowed(&self, allowed: &BTreeSet<String>) -> bool {
        // In old manifests a slash means OR.
        let expression = self.licence.replace('/', " OR ");
        let spaced = expression.replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut words = words.as_slice();
        !words.is_empty() && any(&mut words, allowed) && words.is_empty()
    }
}

/// Reads `one OR another`, up to a closing bracket.
fn any(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut good = all(words, allowed);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        good |= all(words, allowed);
    }
    good
}

/// Reads `one AND another`, each a licence or an expression in brackets.
fn all(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut good = true;
    loop {
        good &= match words {
            ["(", rest @ ..] => {
                *words = rest;
                let inner = any(words, allowed);
                let closed = words.first() == Some(&")");
                *words = words.get(1..).unwrap_or_default();
                inner && closed
            }
            [licence, "WITH", exception, rest @ ..] => {
                *words = rest;
                allowed.contains(&format!("{licence} WITH {exception}"))
            }
            [licence, rest @ ..] => {
                *words = rest;
                allowed.contains(*licence)
            }
            [] => false,
        };
        match words {
            ["AND", rest @ ..] => *words = rest,
            _ => return good,
        }
    }
}

/// Returns the packages from outside; `edges` decides about those for tests.
pub(crate) fn foreign(edges: &str) -> BTreeSet<Foreign> {
    let format = ["--prefix", "none", "--format", "{p}|{l}"];
    let words = ["tree", "--workspace", "--locked", "--offline", "--edges", edges];
    let tree = cargo(&[&words[..], &format].concat());
    // A repeated subtree ends in a star.
    tree.lines().filter_map(|line| Foreign::read(line.trim_end_matches(" (*)"))).collect()
}

/// The rules of deny.toml.
pub(crate) struct Policy {
    pub(crate) licences: BTreeSet<String>,
    /// Packages that may occur twice.
    pub(crate) twice: BTreeSet<String>,
}

impl Policy {
    pub(crate) fn read() -> Self {
        let file: toml::Table = File::read("deny.toml").text.parse().expect("deny.toml is TOML");
        let words = |list: &toml::Value| -> BTreeSet<String> {
            let list = list.as_array().into_iter().flatten();
            list.filter_map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        let skipped =
            file["bans"].get("skip").and_then(toml::Value::as_array).into_iter().flatten();
        let skipped = skipped.filter_map(|one| one["crate"].as_str()?.split('@').next());
        let twice = skipped.map(str::to_owned).collect();
        Self { licences: words(&file["licenses"]["allow"]), twice }
    }
}

/// Returns the names with several versions, and these versions.
pub(crate) fn several(packages: &BTreeSet<Foreign>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

#[test]
fn terms_are_read_as_they_are_written() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
    let allowed = allowed.map(str::to_owned).into();
    for (licence, good) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT/Apache-2.0", true),
        ("Unlicense OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND BSL-1.0", false),
        ("GPL-2.0 OR (MIT AND Unicode-3.0)", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0 WITH Classpath-exception", false),
        ("(MIT", false),
        ("MIT Apache-2.0", false),
        ("", false),
    ] {
        let line = format!("somebody v1.0.0|{licence}");
        let package = Foreign::read(&line).expect("a package from outside");
        assert_eq!(package.is_allowed(&allowed), good, "{licence}");
    }
    assert_eq!(Foreign::read("cora v0.1.0 (/a/checkout)|MIT"), None);
}
