//! Reads the required parts of a package's manifest without asking Cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::cfg::Cfg;

/// Name of the package in `directory`, and the configuration of a plain build: its default
/// features, on this machine.
pub(crate) fn read(directory: &Path) -> Result<(String, Cfg), String> {
    let path = directory.join("Cargo.toml");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("`{}` can't be read: {error}", path.display()))?;
    let manifest: toml::Table =
        text.parse().map_err(|error| format!("`{}`: {error}", path.display()))?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(toml::Value::as_str)
        .ok_or_else(|| format!("`{}` is not the manifest of a package", path.display()))?;
    let features = default_features(&manifest);
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    Ok((name.to_owned(), Cfg::of_this_machine(&features)))
}

/// The manifest in `directory`, if it can be read.
fn manifest(directory: &Path) -> Option<toml::Table> {
    std::fs::read_to_string(directory.join("Cargo.toml")).ok()?.parse().ok()
}

/// Whether the package in `directory` can have a NIC half: its manifest has the feature `nic`.
pub(super) fn has_nic(directory: &Path) -> bool {
    let features = manifest(directory).and_then(|manifest| {
        manifest.get("features").and_then(toml::Value::as_table).map(|it| it.contains_key("nic"))
    });
    features.unwrap_or_default()
}

/// Whether the program of the package in `directory` shares a process with others: its manifest has
/// `share-process = true` in `[package.metadata.cora]`.
pub(super) fn shares_process(directory: &Path) -> bool {
    let says = manifest(directory).and_then(|manifest| {
        manifest.get("package")?.get("metadata")?.get("cora")?.get("share-process")?.as_bool()
    });
    says.unwrap_or_default()
}

/// Name and root of the library of the package in `directory`.
pub(super) fn library(directory: &Path) -> Option<(String, PathBuf)> {
    let manifest = manifest(directory)?;
    let stated = |key: &str| manifest.get("lib")?.get(key)?.as_str();
    let root = directory.join(stated("path").unwrap_or("src/lib.rs"));
    let package = || manifest.get("package")?.get("name")?.as_str();
    let name = stated("name").or_else(package)?.replace('-', "_");
    root.is_file().then_some((name, root))
}

/// `default`, and the features that it enables within the package.
fn default_features(manifest: &toml::Table) -> BTreeSet<String> {
    let table = manifest.get("features").and_then(toml::Value::as_table);
    let features: BTreeMap<&str, Vec<&str>> = table
        .into_iter()
        .flatten()
        .map(|(name, list)| {
            let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
            (name.as_str(), list.iter().filter_map(toml::Value::as_str).collect())
        })
        .collect();
    let mut on = BTreeSet::new();
    let mut next = vec!["default"];
    while let Some(name) = next.pop() {
        if let Some(list) = features.get(name)
            && on.insert(name.to_owned())
        {
            next.extend(list);
        }
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_features_are_followed_within_the_package() {
        let manifest: toml::Table =
            "[features]\ndefault = [\"a\", \"dep:x\", \"y/z\"]\na = [\"b\"]\n\
                                     b = [\"a\"]\nc = []"
                .parse()
                .unwrap();
        let on = default_features(&manifest);
        assert_eq!(on.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "default"]);
    }
}
