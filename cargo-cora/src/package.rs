//! Which package is meant, and Cargo's view of it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::Failure;

/// A package, as the user named it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Package {
    /// A member of the workspace around the current directory.
    Named(String),
    /// The directory of its manifest.
    At(PathBuf),
}

/// How a package is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build<'a> {
    /// Cargo's profile.
    pub(crate) profile: &'a str,
    pub(crate) features: &'a [&'a str],
    /// The value of `CORA_PLAN` for the build script.
    pub(crate) plan: Option<&'a str>,
    /// The machine, unless it is this one.
    pub(crate) target: Option<&'a str>,
    /// Cargo's target directory, unless it is the user's.
    pub(crate) room: Option<&'a Path>,
    /// More that Cargo is to see in its environment.
    pub(crate) variables: &'a [(&'a str, &'a str)],
}

impl Package {
    /// A text with a separator, `.` and `..` are paths; everything else is a name.
    pub(crate) fn of(text: &str) -> Result<Self, Failure> {
        let is_path = text.contains(['/', '\\']) || matches!(text, "." | "..");
        if !is_path {
            return Ok(Self::Named(text.to_owned()));
        }
        let path = Path::new(text);
        let directory = if path.ends_with("Cargo.toml") {
            path.parent().map_or_else(PathBuf::new, Path::to_owned)
        } else {
            path.to_owned()
        };
        if directory.join("Cargo.toml").is_file() {
            return Ok(Self::At(directory));
        }
        let hint = if text == "." { ": name a package, or go to one" } else { "" };
        Err(Failure::Usage(format!("there is no Cargo.toml in `{}`{hint}", directory.display())))
    }

    /// Cargo's arguments that select the package.
    fn selection(&self) -> [OsString; 2] {
        match self {
            Self::Named(name) => ["--package".into(), name.into()],
            Self::At(directory) => ["--manifest-path".into(), directory.join("Cargo.toml").into()],
        }
    }

    /// The directory of its manifest.
    pub(crate) fn directory(&self) -> Result<PathBuf, Failure> {
        let name = match self {
            Self::At(directory) => return Ok(directory.clone()),
            Self::Named(name) => name,
        };
        let metadata = self.metadata(&["--no-deps"])?;
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = packages.iter().find(|package| package["name"] == name.as_str());
        if let Some(manifest) = found.and_then(|package| package["manifest_path"].as_str()) {
            return Ok(Path::new(manifest).parent().unwrap_or(Path::new(".")).to_owned());
        }
        // Programs of Cora depend on it; the others are no help.
        let is_program = |package: &&Value| {
            let on = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
            on.iter().any(|dependency| dependency["name"] == "cora")
        };
        let programs = packages.iter().filter(is_program);
        let names: Vec<&str> = programs.filter_map(|package| package["name"].as_str()).collect();
        Err(Failure::Usage(unknown(name, &names)))
    }

    /// Cargo's target directory for it.
    pub(crate) fn target_directory(&self) -> Result<PathBuf, Failure> {
        let metadata = self.metadata(&["--no-deps"])?;
        let directory = metadata["target_directory"].as_str().map(PathBuf::from);
        directory.ok_or_else(|| Failure::Failed("cargo tells no target directory".to_owned()))
    }

    /// The directory of the Cora that it depends on, where that is in no registry.
    pub(crate) fn cora(&self) -> Result<Option<PathBuf>, Failure> {
        let metadata = self.metadata(&[])?;
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let cora = packages.iter().find(|it| it["name"] == "cora" && it["source"].is_null());
        let manifest = cora.and_then(|cora| cora["manifest_path"].as_str());
        Ok(manifest.and_then(|manifest| Path::new(manifest).parent()).map(Path::to_owned))
    }

    /// Cargo's metadata.
    fn metadata(&self, words: &[&str]) -> Result<Value, Failure> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]).args(words);
        if let Self::At(directory) = self {
            command.arg("--manifest-path").arg(directory.join("Cargo.toml"));
        }
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Failure::Failed(format!("cargo doesn't start: {error}")))?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| Failure::Usage("there is no workspace here".to_owned()))
    }

    /// Builds it and gives the path of its program.
    pub(crate) fn build(
        &self,
        profile: &str,
        nic: bool,
        plan: Option<&str>,
    ) -> Result<PathBuf, Failure> {
        let features: &[&str] = if nic { &["nic"] } else { &[] };
        let (target, room, variables) = (None, None, &[][..]);
        self.build_as(&Build { profile, features, plan, target, room, variables })
    }

    /// Builds it in this way and gives the path of its program.
    pub(crate) fn build_as(&self, build: &Build<'_>) -> Result<PathBuf, Failure> {
        if let Self::Named(_) = self {
            self.directory()?; // says which names there are
        }
        let mut command = cargo();
        command.arg("build").args(["--profile", build.profile]).args(self.selection());
        command.arg("--message-format=json-render-diagnostics");
        if !build.features.is_empty() {
            command.args(["--features", &build.features.join(",")]);
        }
        if let Some(target) = build.target {
            command.args(["--target", target]);
        }
        if let Some(room) = build.room {
            command.arg("--target-dir").arg(room);
        }
        if let Some(plan) = build.plan {
            command.env("CORA_PLAN", plan);
        }
        command.envs(build.variables.iter().copied());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Failed(format!("cargo doesn't start: {error}")))?;
        let programs = child.stdout.take().map(|messages| programs(BufReader::new(messages)));
        let status = child.wait().map_err(|error| Failure::Failed(error.to_string()))?;
        if !status.success() {
            return Err(Failure::Failed("the build failed; its messages stand above".to_owned()));
        }
        only(programs.unwrap_or_default())
    }
}

/// The plan as the build script is to see it: a name, or the whole path of a file.
pub(crate) fn plan(text: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let Err(unknown) = cora_plan::Statement::named(text) else { return Ok(Some(text.to_owned())) };
    match Path::new(text).canonicalize() {
        Ok(path) if path.is_file() => Ok(Some(path.display().to_string())),
        _ => Err(Failure::Usage(format!("{unknown}, and no file `{text}`\n{}", unknown.cure()))),
    }
}

pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Names and paths of the programs among Cargo's messages.
fn programs(messages: impl BufRead) -> Vec<(String, PathBuf)> {
    let mut programs = Vec::new();
    for line in messages.lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let target = &message["target"];
        let is_program =
            target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bin".into()));
        if let (true, Some(path)) = (is_program, message["executable"].as_str()) {
            programs.push((target["name"].as_str().unwrap_or_default().to_owned(), path.into()));
        }
    }
    programs
}

fn only(programs: Vec<(String, PathBuf)>) -> Result<PathBuf, Failure> {
    let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
    match names[..] {
        [] => Err(Failure::Failed("the package has no program to run".to_owned())),
        [_] => Ok(programs.into_iter().map(|(_, path)| path).collect()),
        _ => Err(Failure::Failed(format!(
            "the package has several programs: {}; one is expected",
            names.join(", ")
        ))),
    }
}

fn unknown(name: &str, names: &[&str]) -> String {
    match cora_plan::nearest(name, names.iter().copied()) {
        Some(near) => format!("no package `{name}` in this workspace; did you mean `{near}`?"),
        None => {
            format!("no package `{name}` in this workspace; programs are: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_names_from_paths() {
        assert_eq!(Package::of("nat").unwrap(), Package::Named("nat".to_owned()));
        let here = env!("CARGO_MANIFEST_DIR");
        assert_eq!(Package::of(here).unwrap(), Package::At(here.into()));
        assert_eq!(Package::of(&format!("{here}/Cargo.toml")).unwrap(), Package::At(here.into()));
        assert!(matches!(Package::of("./nowhere"), Err(Failure::Usage(_))));
    }

    #[test]
    fn finds_the_program_among_the_messages() {
        let messages = br#"{"reason":"compiler-artifact","target":{"kind":["custom-build"],"name":"build-script-build"},"executable":null}
not json
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"cora"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"nat"},"executable":"/t/release/nat"}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(only(programs(&messages[..])).unwrap(), PathBuf::from("/t/release/nat"));
        assert!(only(Vec::new()).is_err());
        let two = vec![("a".to_owned(), "/a".into()), ("b".to_owned(), "/b".into())];
        assert!(only(two).unwrap_err().to_string().contains("a, b"));
    }
}
