//! The crates of the workspace, and the arrows between them.

use std::path::{Path, PathBuf};

use super::graph::Graph;

/// A package of the workspace, beside programs that are made with it.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) home: PathBuf,
    needs: Vec<String>,
}

impl Package {
    /// Whether it has a library of several files.
    pub(super) fn has_library(&self) -> bool {
        self.home.join("src/lib.rs").is_file()
    }
}

/// The packages beside examples and programs, in order of their names.
pub(super) fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let entries =
        std::fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut homes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    homes.push(root.to_owned());
    let mut packages = Vec::new();
    for home in homes {
        let manifest = home.join("Cargo.toml");
        if !manifest.is_file() || home.ends_with("fuzz") {
            continue;
        }
        let text = std::fs::read_to_string(&manifest);
        let text = text.map_err(|error| format!("{}: {error}", manifest.display()))?;
        packages.extend(read(&text).map(|(name, needs)| Package { name, home, needs }));
    }
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(packages)
}

/// The name of a manifest's package, and the names of its dependencies, other than for its tests.
fn read(manifest: &str) -> Option<(String, Vec<String>)> {
    let (mut name, mut needs) = (None, Vec::new());
    let mut section = "";
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().trim_end_matches(".workspace");
        let is_of_build = section.ends_with("dependencies") && !section.contains("dev-");
        if section == "package" && key == "name" {
            name = value.split('"').nth(1).map(str::to_owned);
        } else if is_of_build && section != "workspace.dependencies" {
            needs.push(key.to_owned());
        }
    }
    Some((name?, needs))
}

/// Draws the crates.
pub(super) fn draw(packages: &[Package]) -> Graph {
    let mut graph = Graph::default();
    for package in packages {
        graph.add_room(&package.name);
        for need in &package.needs {
            if packages.iter().any(|other| other.name == *need) {
                graph.add_arrow(&package.name, need);
            }
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_manifest_names_what_it_builds_on() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
                        [dev-dependencies]\nd = \"1\"\n[build-dependencies]\nc = { path = \"c\" }\n";
        let needs = ["b", "c"].map(str::to_owned).to_vec();
        assert_eq!(read(manifest), Some(("a".to_owned(), needs)));
        assert_eq!(read("[workspace]\nmembers = []\n"), None);
    }
}
