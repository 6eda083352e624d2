//! The crates of the workspace, and the arrows between them.

use std::path::{Path, PathBuf};

use super::graph::Graph;
use crate::words::files;

/// A package of the workspace, beside programs that are made with it.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) home: PathBuf,
    needs: Vec<String>,
}

impl Package {
    /// Whether it has a library.
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
        let text = files::text(&manifest)?;
        packages.extend(files::name(&text).map(|name| Package { name, home, needs: needs(&text) }));
    }
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(packages)
}

/// The dependencies that a manifest names, other than for its tests.
fn needs(manifest: &str) -> Vec<String> {
    let mut needs = Vec::new();
    let mut section = "";
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            continue;
        }
        let is_of_build = section.ends_with("dependencies")
            && !section.contains("dev-")
            && section != "workspace.dependencies";
        let key = line.split_once('=').filter(|_| is_of_build);
        needs.extend(key.map(|(key, _)| key.trim().trim_end_matches(".workspace").to_owned()));
    }
    needs
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
    use super::needs;

    #[test]
    fn a_manifest_names_what_it_builds_on() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
                        [dev-dependencies]\nd = \"1\"\n[build-dependencies]\nc = { path = \"c\" }\n";
        assert_eq!(needs(manifest), ["b", "c"]);
        assert_eq!(
            needs("[workspace]\nmembers = []\n[workspace.dependencies]\nb = \"1\"\n"),
            [""; 0]
        );
    }
}
