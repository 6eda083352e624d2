//! Where a new package gets Cora from: a checkout, or the registry.

use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// This directory.
    Checkout(PathBuf),
    /// The version of this command.
    Published,
}

impl Source {
    /// The named checkout; else the one that this command was built from, and the registry if it
    /// came from there.
    pub(super) fn of(named: Option<&Path>) -> Result<Self, Failure> {
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        match named {
            Some(directory) => checkout(directory).ok_or_else(|| {
                Failure::Usage(format!("`{}` is no checkout of Cora", directory.display()))
            }),
            None => checkout(&built_from)
                .or_else(|| is_of_a_registry(&built_from).then_some(Self::Published))
                .ok_or_else(|| {
                    Failure::Usage(format!(
                        "the checkout that this command was built from, `{}`, is gone: say where one is, with `--cora \
                         DIRECTORY`",
                        built_from.display()
                    ))
                }),
        }
    }

    /// It as a dependency's keys.
    pub(super) fn dependency(&self) -> String {
        match self {
            Self::Checkout(path) => format!("path = {:?}", path.display().to_string()),
            Self::Published => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// The checkout at this directory, by its whole path: a package may move, and is built from
/// anywhere.
fn checkout(directory: &Path) -> Option<Source> {
    let path = directory.canonicalize().ok()?;
    path.join("cora-core/Cargo.toml").is_file().then_some(Source::Checkout(path))
}

/// Whether Cargo unpacked this from a registry.
fn is_of_a_registry(path: &Path) -> bool {
    let mut parts = path.components().map(Component::as_os_str);
    parts.any(|part| part == "registry") && parts.next().is_some_and(|part| part == "src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_named_by_its_whole_path() {
        let here = checkout(Path::new("..")).expect("tests run in a checkout");
        let Source::Checkout(path) = &here else { unreachable!("a checkout") };
        assert!(path.is_absolute() && !path.ends_with(".."), "{path:?}");
        // The command of this test was built from it.
        assert_eq!(Source::of(None).ok(), Some(here));
        assert!(Source::of(Some(Path::new("src"))).is_err());
    }

    #[test]
    fn what_cargo_unpacked_is_told_from_what_was_cloned() {
        assert!(is_of_a_registry(Path::new("/x/.cargo/registry/src/index-1/cargo-cora-0.1.0/..")));
        assert!(!is_of_a_registry(Path::new("/x/registry/cora/cargo-cora/..")));
    }
}
