//! The output of `cargo metadata`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::environment::cleaned;

/// What Cargo tells of a package and its workspace.
#[derive(Clone, Debug)]
pub(super) struct Metadata(Value);

impl Metadata {
    /// The packages of the workspace around a manifest, unresolved.
    pub(super) fn of_workspace(manifest: &Path) -> Result<Self, String> {
        ask(manifest, &["--no-deps".to_owned()])
    }

    /// All packages that the workspace around a manifest needs, for the target of this build.
    pub(super) fn resolved(manifest: &Path) -> Result<Self, String> {
        let mut words = Vec::new();
        if let Some(target) = env::var("TARGET").ok().or_else(host) {
            // Cargo has downloaded nothing for other targets.
            words.extend(["--filter-platform".to_owned(), target]);
        }
        if manifest.ancestors().any(|directory| directory.join("Cargo.lock").is_file()) {
            words.push("--locked".to_owned());
        }
        ask(manifest, &words)
    }

    /// The package with this manifest.
    pub(super) fn package(&self, manifest: &Path) -> Option<Package> {
        let has = |package: &Value| {
            text(package, "manifest_path").is_some_and(|path| same_file(Path::new(path), manifest))
        };
        list(&self.0, "packages").iter().find(|package| has(package)).cloned().map(Package)
    }

    /// The package that another one calls by the name `name`, after resolution.
    pub(super) fn dependency(&self, of: &Package, name: &str) -> Option<Package> {
        let nodes = list(self.0.get("resolve")?, "nodes");
        let node = nodes.iter().find(|node| text(node, "id") == text(&of.0, "id"))?;
        let is_normal = |dependency: &&Value| {
            let kinds = list(dependency, "dep_kinds");
            kinds.iter().any(|kind| kind.get("kind").is_none_or(Value::is_null))
        };
        let mut named = list(node, "deps").iter().filter(|it| text(it, "name") == Some(name));
        let id = text(named.find(is_normal)?, "pkg")?;
        list(&self.0, "packages").iter().find(|it| text(it, "id") == Some(id)).cloned().map(Package)
    }

    /// The workspace's manifest.
    pub(super) fn workspace(&self) -> Option<PathBuf> {
        Some(Path::new(text(&self.0, "workspace_root")?).join("Cargo.toml"))
    }

    #[cfg(test)]
    pub(super) fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }
}

/// A package.
#[derive(Clone, Debug)]
pub(super) struct Package(Value);

impl Package {
    pub(super) fn name(&self) -> &str {
        text(&self.0, "name").unwrap_or_default()
    }

    pub(super) fn version(&self) -> &str {
        text(&self.0, "version").unwrap_or_default()
    }

    pub(super) fn manifest(&self) -> &Path {
        Path::new(text(&self.0, "manifest_path").unwrap_or_default())
    }

    pub(super) fn directory(&self) -> &Path {
        self.manifest().parent().unwrap_or(Path::new(""))
    }

    /// Name and root of its library.
    pub(super) fn root_of_library(&self) -> Option<(&str, &Path)> {
        let is_library = |target: &&Value| {
            let mut kinds = list(target, "kind").iter().filter_map(Value::as_str);
            kinds.any(|kind| matches!(kind, "lib" | "rlib" | "dylib"))
        };
        let target = list(&self.0, "targets").iter().find(is_library)?;
        Some((text(target, "name")?, Path::new(text(target, "src_path")?)))
    }

    pub(super) fn dependencies(&self) -> impl Iterator<Item = Dependency<'_>> {
        list(&self.0, "dependencies").iter().map(Dependency)
    }

    /// Its features, each with its entries.
    pub(super) fn features(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        let table = self.0.get("features").and_then(Value::as_object);
        table.into_iter().flatten().map(|(name, entries)| {
            let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
            (name.as_str(), entries.iter().filter_map(Value::as_str).collect())
        })
    }
}

/// A dependency, as a manifest states it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependency<'a>(&'a Value);

impl<'a> Dependency<'a> {
    /// Its name in the manifest.
    pub(super) fn key(self) -> &'a str {
        text(self.0, "rename").or_else(|| text(self.0, "name")).unwrap_or_default()
    }

    pub(super) fn is_renamed(self) -> bool {
        text(self.0, "rename").is_some()
    }

    /// `dev` or `build`; `None` for one of the program itself.
    pub(super) fn kind(self) -> Option<&'a str> {
        text(self.0, "kind")
    }

    pub(super) fn path(self) -> Option<&'a Path> {
        text(self.0, "path").map(Path::new)
    }

    /// The features that the manifest asks for.
    pub(super) fn features(self) -> impl Iterator<Item = &'a str> {
        let default = self.0.get("uses_default_features").and_then(Value::as_bool);
        let default = default.unwrap_or(true).then_some("default");
        list(self.0, "features").iter().filter_map(Value::as_str).chain(default)
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Runs `cargo metadata`; the error is Cargo's own, in one line.
fn ask(manifest: &Path, words: &[String]) -> Result<Metadata, String> {
    let output = cargo(manifest)
        .args(["metadata", "--format-version", "1", "--offline", "--color", "never"])
        .arg("--manifest-path")
        .arg(manifest)
        .args(words)
        .output()
        .map_err(|error| format!("cargo does not run: {error}"))?;
    if output.status.success() {
        let value = serde_json::from_slice(&output.stdout);
        return value.map(Metadata).map_err(|error| format!("cargo's answer: {error}"));
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let first = told.lines().find_map(|line| line.strip_prefix("error: "));
    Err(first.unwrap_or("cargo does not say why").to_owned())
}

/// This machine's target.
fn host() -> Option<String> {
    let output = cargo(Path::new("")).arg("-vV").output().ok()?;
    let told = String::from_utf8(output.stdout).ok()?;
    told.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// A cargo that does not see the build around it, in the directory of a manifest.
fn cargo(manifest: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env_clear().envs(cleaned(env::vars_os())).stdin(Stdio::null());
    // Settings and toolchain files apply to directories.
    if let Some(directory) = manifest.parent().filter(|directory| directory.is_dir()) {
        command.current_dir(directory);
    }
    command
}
