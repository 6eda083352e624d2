//! Packages with their sources, and pages.

use std::path::{Path, PathBuf};

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) sources: Vec<PathBuf>,
}

/// The packages in order of their names; `fuzz/` is another workspace.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    let is = |path: &Path, extension: &str| path.extension().is_some_and(|it| it == extension);
    let manifests = paths.iter().filter(|path| path.ends_with("Cargo.toml"));
    let mut packages = Vec::new();
    for manifest in manifests {
        let home = manifest.parent().unwrap_or(root);
        let Some(name) = name(&text(manifest)?) else { continue };
        let mine = |path: &&PathBuf| is(path, "rs") && nearest(root, path) == home;
        packages.push(Package { name, sources: paths.iter().filter(mine).cloned().collect() });
    }
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(packages)
}

/// README, ARCHITECTURE, CHANGELOG, and all below `docs/`.
pub(crate) fn pages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pages =
        ["ARCHITECTURE.md", "CHANGELOG.md", "README.md"].map(|it| root.join(it)).to_vec();
    let mut docs = Vec::new();
    walk(&root.join("docs"), &mut docs)?;
    docs.retain(|path| path.extension().is_some_and(|it| it == "md"));
    docs.sort();
    pages.append(&mut docs);
    Ok(pages)
}

pub(crate) fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// From the root, with `/` between the parts.
pub(crate) fn inside(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

pub(crate) fn is_test(root: &Path, path: &Path) -> bool {
    let path = inside(root, path);
    path.split('/').any(|part| ["tests", "tests.rs", "benches"].contains(&part))
}

/// The name that a manifest gives to its package.
pub(crate) fn name(manifest: &str) -> Option<String> {
    let (_, package) = manifest.split_once("[package]")?;
    let line = package.lines().find(|line| line.starts_with("name ="))?;
    line.split('"').nth(1).map(str::to_owned)
}

/// The directory of the nearest manifest above.
fn nearest<'a>(root: &'a Path, path: &'a Path) -> &'a Path {
    let mut above = path.ancestors().skip(1);
    above.find(|directory| directory.join("Cargo.toml").is_file()).unwrap_or(root)
}

/// Every file that nobody made by a build.
fn walk(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let skipped = ["target", "fuzz", ".git"].iter().any(|name| directory.ends_with(name));
    if skipped || directory.join("CACHEDIR.TAG").exists() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            walk(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{inside, is_test, name, packages, pages};

    #[test]
    fn a_file_belongs_to_the_nearest_package() {
        let root = crate::root();
        let packages = packages(root).expect("the packages");
        let of = |name: &str| packages.iter().find(|it| it.name == name).expect("a package");
        let has = |name: &str, path: &str| of(name).sources.contains(&root.join(path));
        assert!(has("cora", "src/lib.rs") && has("xtask", "xtask/src/main.rs"));
        assert!(has("cora-counter", "benches/counter/src/lib.rs"));
        assert!(
            !has("cora-bench", "benches/counter/src/lib.rs") && !has("cora", "xtask/src/main.rs")
        );
    }

    #[test]
    fn pages_are_found_with_those_of_results() {
        let root = crate::root();
        let pages: Vec<_> = pages(root).expect("pages").iter().map(|it| inside(root, it)).collect();
        assert!(pages.contains(&"README.md".to_owned()), "{pages:?}");
        assert!(pages.iter().any(|page| page.starts_with("docs/")), "{pages:?}");
    }

    #[test]
    fn a_manifest_names_its_package() {
        assert_eq!(name("[lib]\nname = \"b\"\n[package]\nname = \"a\"\n"), Some("a".to_owned()));
        assert_eq!(name("[workspace]\n"), None);
    }

    #[test]
    fn tests_are_known_by_their_place() {
        let root = crate::root();
        assert!(is_test(root, &root.join("cora-runtime/tests/heads.rs")));
        assert!(is_test(root, &root.join("cora-plan/src/search/tests.rs")));
        assert!(!is_test(root, &root.join("cora-plan/src/search/mod.rs")));
    }
}
