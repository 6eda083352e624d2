//! Finds the file of `mod x;`.
//!
//! The rules are those of the Rust reference, "Module source filenames". Files are next to `mod.rs`
//! and roots, and otherwise in a directory with the file's name, with a directory for each inline
//! module. `#[path]` is relative to the directory of the file, or of its inline module.

use std::path::{Path, PathBuf};

/// Directories for the modules declared at some place.
#[derive(Clone, Debug)]
pub(super) struct Directories {
    /// Directory of child modules.
    children: PathBuf,
    /// The base directory of `#[path]`.
    paths: PathBuf,
}

/// A module's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Whether its children are next to it.
    pub(super) beside: bool,
}

impl Directories {
    /// At the top of a file.
    pub(super) fn of_file(found: &Found) -> Self {
        let beside = found.path.parent().map(Path::to_path_buf).unwrap_or_default();
        let children = if found.beside { beside.clone() } else { found.path.with_extension("") };
        Self { children, paths: beside }
    }

    /// Inside an inline module.
    pub(super) fn inline(&self, name: &str, path: Option<&str>) -> Self {
        let children = match path {
            Some(path) => self.paths.join(path),
            None => self.children.join(name),
        };
        Self { paths: children.clone(), children }
    }

    /// The file of `mod name;`; `None` if there is none.
    pub(super) fn find(&self, name: &str, path: Option<&str>) -> Option<Found> {
        if let Some(path) = path {
            let path = self.paths.join(path);
            return path.is_file().then_some(Found { path, beside: true });
        }
        let file = Found { path: self.children.join(format!("{name}.rs")), beside: false };
        let inner = Found { path: self.children.join(name).join("mod.rs"), beside: true };
        [file, inner].into_iter().find(|found| found.path.is_file())
    }
}
