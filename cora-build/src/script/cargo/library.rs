//! The library that a package calls by a name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::metadata::{Dependency, Metadata, Package};

/// A library of another package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The directory of its package.
    pub directory: PathBuf,
    /// Its root.
    pub root: PathBuf,
    /// What stands before the names of its files, the same on every machine: the way to the package
    /// from the program's, or its name and version.
    pub shown: String,
    /// The features that the program's manifest enables, with those that they enable in turn.
    pub features: BTreeSet<String>,
    /// The manifests that say so.
    pub manifests: Vec<PathBuf>,
}

/// The reason that there is no such library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfound {
    /// No dependency has this name.
    NotADependency {
        /// `dev` or `build`, if one for that has it.
        kind: Option<String>,
        /// The names that there are.
        names: Vec<String>,
    },
    /// The dependency has no library.
    NoLibrary {
        /// The package's name.
        package: String,
    },
    /// Cargo does not say where it is.
    Unknown {
        /// Cargo's reason, in one line.
        why: String,
    },
}

/// The dependencies of a package.
#[derive(Debug)]
pub struct Dependencies {
    manifest: PathBuf,
    workspace: Option<Result<Metadata, String>>,
    resolved: Option<Result<Metadata, String>>,
}

impl Dependencies {
    /// Of the package in `directory`. Cargo is not yet asked.
    pub fn of(directory: &Path) -> Self {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf());
        Self { manifest: directory.join("Cargo.toml"), workspace: None, resolved: None }
    }

    /// The library that the package calls `name`. `is_on` says which of the package's own features
    /// are enabled.
    pub fn find(&mut self, name: &str, is_on: &dyn Fn(&str) -> bool) -> Result<Library, Unfound> {
        if !self.manifest.is_file() {
            return Err(Unfound::NotADependency { kind: None, names: Vec::new() });
        }
        let manifest = self.manifest.clone();
        let package = self.workspace()?.package(&manifest);
        let package = package.ok_or_else(|| no_package(&manifest))?;
        self.of_package(&package, name, is_on)
    }

    fn of_package(
        &mut self,
        package: &Package,
        name: &str,
        is_on: &dyn Fn(&str) -> bool,
    ) -> Result<Library, Unfound> {
        let stated: Vec<Dependency<'_>> =
            package.dependencies().filter(|it| it.kind().is_none()).collect();
        let mut called = stated.clone();
        called.retain(|it| crate_name(it.key()) == name);
        let found = match (called.first().and_then(|it| it.path()), called.is_empty()) {
            (Some(path), _) => Some(self.at(path)?),
            (None, false) => self.resolved()?.dependency(package, name),
            (None, true) => {
                let found = self.otherwise_called(package, &stated, name);
                let found = found.ok_or_else(|| not_a_dependency(package, name))?;
                called = stated;
                called.retain(|it| !it.is_renamed() && it.key() == found.name());
                Some(found)
            }
        };
        // Cargo's resolution leaves dependencies without a library out.
        let without = called.first().map_or(name, |it| it.key());
        let without = || Unfound::NoLibrary { package: without.to_owned() };
        let found = found.ok_or_else(without)?;
        let (_, root) = found.root_of_library().ok_or_else(without)?;
        let by_path = called.iter().any(|it| it.path().is_some());
        Ok(Library {
            directory: found.directory().to_path_buf(),
            root: root.to_path_buf(),
            shown: if by_path {
                relative(package.directory(), found.directory())
            } else {
                format!("{}-{}", found.name(), found.version())
            },
            features: features(package, &called, &found, is_on),
            manifests: self.manifests(by_path.then(|| found.manifest().to_path_buf())),
        })
    }

    fn workspace(&mut self) -> Result<&Metadata, Unfound> {
        let Self { manifest, workspace, .. } = self;
        let workspace = workspace.get_or_insert_with(|| Metadata::of_workspace(manifest));
        workspace.as_ref().map_err(|why| unknown(why))
    }

    fn resolved(&mut self) -> Result<&Metadata, Unfound> {
        let Self { manifest, resolved, .. } = self;
        let resolved = resolved.get_or_insert_with(|| Metadata::resolved(manifest));
        resolved.as_ref().map_err(|why| unknown(why))
    }

    /// The package in a directory, of this workspace or of another one.
    fn at(&mut self, directory: &Path) -> Result<Package, Unfound> {
        let manifest = directory.join("Cargo.toml");
        if let Some(found) = self.workspace()?.package(&manifest) {
            return Ok(found);
        }
        let other = Metadata::of_workspace(&manifest).map_err(|why| unknown(&why))?;
        other.package(&manifest).ok_or_else(|| no_package(&manifest))
    }

    /// A dependency with a library of another name than its own, which no manifest of the program
    /// tells.
    fn otherwise_called(
        &mut self,
        package: &Package,
        stated: &[Dependency<'_>],
        name: &str,
    ) -> Option<Package> {
        let mut elsewhere = false;
        for dependency in stated.iter().filter(|it| !it.is_renamed()) {
            let Some(path) = dependency.path() else {
                elsewhere = true;
                continue;
            };
            let found = self.at(path).ok();
            let found = found.filter(|it| it.root_of_library().is_some_and(|(own, _)| own == name));
            if found.is_some() {
                return found;
            }
        }
        if elsewhere { self.resolved().ok()?.dependency(package, name) } else { None }
    }

    /// The files that the answer rests on.
    fn manifests(&self, of_library: Option<PathBuf>) -> Vec<PathBuf> {
        let workspace = self.workspace.iter().flatten().find_map(Metadata::workspace);
        // Only versions are locked.
        let locked = workspace.as_ref().filter(|_| of_library.is_none());
        let locked = locked.map(|workspace| workspace.with_extension("lock"));
        let mut all: Vec<PathBuf> = [Some(self.manifest.clone()), workspace, of_library, locked]
            .into_iter()
            .flatten()
            .collect();
        all.retain(|path| path.is_file());
        all.dedup();
        all
    }
}

fn unknown(why: &str) -> Unfound {
    Unfound::Unknown { why: why.to_owned() }
}

fn no_package(manifest: &Path) -> Unfound {
    Unfound::Unknown { why: format!("`{}` is not the manifest of a package", manifest.display()) }
}

fn not_a_dependency(package: &Package, name: &str) -> Unfound {
    let others = package.dependencies().filter_map(|it| Some((it.kind()?, it.key())));
    let kind = others.into_iter().find(|(_, key)| crate_name(key) == name);
    let names = package.dependencies().filter(|it| it.kind().is_none());
    Unfound::NotADependency {
        kind: kind.map(|(kind, _)| kind.to_owned()),
        names: names.map(|it| crate_name(it.key())).collect(),
    }
}

/// A dependency's name in Rust.
fn crate_name(key: &str) -> String {
    key.replace('-', "_")
}

/// The enabled features of a library's package, as far as the program's manifest decides.
fn features(
    package: &Package,
    called: &[Dependency<'_>],
    library: &Package,
    is_on: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let asked = called.iter().flat_map(|it| it.features()).map(str::to_owned);
    let mut next: Vec<String> = asked.collect();
    for (_, entries) in package.features().filter(|(name, _)| is_on(name)) {
        for (of, feature) in entries.iter().filter_map(|entry| entry.split_once('/')) {
            let of = of.strip_suffix('?').unwrap_or(of);
            if called.iter().any(|it| it.key() == of) {
                next.push(feature.to_owned());
            }
        }
    }
    let mut on = BTreeSet::new();
    while let Some(name) = next.pop() {
        let entries = library.features().find(|(feature, _)| *feature == name);
        if let Some((_, entries)) = entries
            && on.insert(name)
        {
            next.extend(entries.into_iter().map(str::to_owned));
        }
    }
    on
}

/// The way from one directory to another, with `/` on every machine.
fn relative(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<String>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Cargo tells of a package with dependencies of all kinds, shortened.
    fn told() -> Metadata {
        let library = |name: &str| {
            format!(r#"[{{"kind":["lib"],"name":"{name}","src_path":"/r/{name}/lib.rs"}}]"#)
        };
        let text = format!(
            r#"{{"packages":[
            {{"name":"edge","version":"0.1.0","id":"edge","manifest_path":"/p/edge/Cargo.toml","targets":[],
              "features":{{"deep":["wall/deep","other?/x"],"default":["deep"]}},
              "dependencies":[
                {{"name":"firewall","rename":"wall","kind":null,"features":["v6"],"uses_default_features":false}},
                {{"name":"nat-44","rename":null,"kind":null,"features":[],"uses_default_features":true}},
                {{"name":"lister","rename":null,"kind":"dev","features":[],"uses_default_features":true}}]}},
            {{"name":"firewall","version":"2.0.1","id":"fw","manifest_path":"/r/firewall/Cargo.toml",
              "targets":{},"features":{{"default":["log"],"log":[],"deep":["v6"],"v6":[]}},"dependencies":[]}},
            {{"name":"nat-44","version":"1.0.0","id":"nat","manifest_path":"/r/nat/Cargo.toml",
              "targets":{},"features":{{}},"dependencies":[]}}],
            "resolve":{{"nodes":[{{"id":"edge","deps":[
                {{"name":"wall","pkg":"fw","dep_kinds":[{{"kind":null}}]}},
                {{"name":"nat","pkg":"nat","dep_kinds":[{{"kind":null}}]}},
                {{"name":"lister","pkg":"nat","dep_kinds":[{{"kind":"dev"}}]}}]}}]}},
            "workspace_root":"/p"}}"#,
            library("firewall"),
            library("nat")
        );
        Metadata::parse(&text)
    }

    fn find(name: &str, is_on: &dyn Fn(&str) -> bool) -> Result<Library, Unfound> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let mut dependencies = Dependencies {
            manifest: here,
            workspace: Some(Ok(told())),
            resolved: Some(Ok(told())),
        };
        // Only the file itself has to be there.
        let package = told().package(Path::new("/p/edge/Cargo.toml")).unwrap();
        dependencies.of_package(&package, name, is_on)
    }

    #[test]
    fn a_renamed_library_of_a_registry_is_found_with_its_features() {
        let wall = find("wall", &|_| false).unwrap();
        assert_eq!(wall.root, Path::new("/r/firewall/lib.rs"));
        assert_eq!(wall.shown, "firewall-2.0.1");
        assert_eq!(wall.features.iter().collect::<Vec<_>>(), ["v6"], "no default ones");
        let wall = find("wall", &|feature| feature == "deep").unwrap();
        assert_eq!(wall.features.iter().collect::<Vec<_>>(), ["deep", "v6"]);
    }

    #[test]
    fn a_library_may_have_another_name_than_its_package() {
        assert_eq!(find("nat", &|_| false).unwrap().shown, "nat-44-1.0.0");
    }

    #[test]
    fn what_is_no_dependency_is_told_with_those_that_are() {
        let names = || vec!["wall".to_owned(), "nat_44".to_owned()];
        let unfound = |kind: Option<&str>| Unfound::NotADependency {
            kind: kind.map(str::to_owned),
            names: names(),
        };
        assert_eq!(find("firewall", &|_| false), Err(unfound(None)), "it is called `wall` here");
        assert_eq!(find("lister", &|_| false), Err(unfound(Some("dev"))));
    }

    #[test]
    fn names_of_files_are_the_same_on_every_machine() {
        for (from, to, way) in [
            ("/p/chain", "/p/nat", "../nat"),
            ("/p", "/p/libs/nat", "libs/nat"),
            ("/p/a/b", "/q/nat", "../../../q/nat"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), way);
        }
    }
}
