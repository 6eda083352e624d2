//! The source of a program: its files, and the items that Cora has to know.
//!
//! 1. Begin at the root of the crate, `src/main.rs` or else `src/lib.rs`.
//! 2. Follow `mod` as rustc does (`files`), leaving out what a false `#[cfg]` leaves out.
//! 3. Gather the items with `#[state]` and `#[flow_handler]`, the calls of `app!`, and what a
//!    handler may not reach: statics that can change (`walk`).
//! 4. Where an annotation stands that can't be gathered (made by a macro, within a function), say
//!    so (`scan`).
//!
//! What doesn't parse, and modules that aren't there, are left for rustc to complain about: it does
//! so better.

mod files;
mod item;
mod scan;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

use super::cfg::Cfg;
use super::findings::{Findings, Texts};
use super::package;
use crate::check::paths::Surroundings;
use crate::diag::Place;

pub use item::attributes;
pub use scan::mentions;

/// A program's source.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Files, in the order in which they were come upon; the root first.
    pub files: Vec<File>,
    /// Items with `#[state]` or `#[flow_handler]`, in the order of the source.
    pub items: Vec<Annotated>,
    /// Calls of `app!`.
    pub calls: Vec<Call>,
    /// Statics that can change.
    pub statics: Vec<Static>,
    /// Functions that handlers may call.
    pub functions: Vec<Function>,
    /// What handlers may name and call.
    pub surroundings: Surroundings,
    /// Names of annotated items that their `#[cfg]` leaves out.
    pub removed: Vec<String>,
    /// All items that are compiled for the NIC, but for modules.
    pub shared: Vec<Shared>,
    /// Paths from the root of items that the NIC half is built without.
    pub host_only: BTreeSet<Vec<String>>,
    /// Whether a file nests too deep to be read: the compiler may not survive it either.
    pub too_deep: bool,
    /// Whether its package has a NIC half: its manifest has the feature `nic`.
    pub has_nic: bool,
    /// Why rustc will complain; the program was not read to its end then.
    pub unreadable: Option<String>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Its name from the package's directory, with `/` on every machine.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether both halves are built from it.
    pub shared: bool,
}

/// What an item is annotated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// `#[state]`.
    State,
    /// `#[flow_handler]`.
    Handler,
}

/// An item with an attribute of Cora's.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// Which attribute.
    pub annotation: Annotation,
    /// Number of its file.
    pub file: usize,
    /// Names of the modules around it, from the root.
    pub module: Vec<String>,
    /// Why the root of the crate can't name it, where it can't: what would have to be `pub`.
    pub hidden: Option<String>,
    /// What stands in the attribute's parentheses.
    pub args: TokenStream,
    /// The item, as the file has it.
    pub item: TokenStream,
}

/// A call of `app!`.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of its file.
    pub file: usize,
    /// Whether it stands in a module.
    pub in_module: bool,
    /// Where.
    pub place: Place,
    /// What stands in its parentheses.
    pub arguments: TokenStream,
}

/// A static that can change.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its name.
    pub name: String,
    /// How it can change, in a few words.
    pub how: &'static str,
}

/// A function without `#[flow_handler]`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its body.
    pub body: TokenStream,
}

/// An item that both halves are built from.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Number of its file.
    pub file: usize,
    /// Modules around it.
    pub module: Vec<String>,
    /// The item.
    pub item: syn::Item,
}

/// Reads the program whose package is in `directory`.
pub fn run(directory: &Path, cfg: &Cfg, findings: &mut Findings) -> Source {
    let mut walk = walk::Walk::new(directory, cfg, findings);
    walk.source.has_nic = package::has_nic(directory);
    let root = ["src/main.rs", "src/lib.rs"].map(|name| directory.join(name));
    match root.iter().find(|path| path.is_file()) {
        Some(path) => walk.root(path),
        None => walk.source.unreadable = Some(format!("there is no `{}`", root[0].display())),
    }
    walk.source
}

impl Source {
    /// Digest of what both halves are built from.
    pub fn digest(&self, cfg: &Cfg) -> u64 {
        let features: Vec<&str> = cfg.shared_features().collect();
        let features = features.join(",");
        let files = self.files.iter().filter(|file| file.shared);
        cora_plan::plan::digest(
            files.map(|f| (f.name.as_str(), f.text.as_str())).chain([("", features.as_str())]),
        )
    }
}

impl Texts for Source {
    fn text(&self, file: usize) -> Option<(&str, &str)> {
        self.files.get(file).map(|file| (file.name.as_str(), file.text.as_str()))
    }
}
