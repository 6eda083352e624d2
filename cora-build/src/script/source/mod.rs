//! The source of a program: its files, and the items relevant to Cora.
//!
//! 1. Begin at the root of the crate, `src/main.rs` or else `src/lib.rs`.
//! 2. Follow `mod` as rustc does (`files`), without items that a false `#[cfg]` removes.
//! 3. Gather the items with `#[state]` and `#[flow_handler]`, the calls of `app!`, and the statics
//!    that can change, because handlers may not reach them (`walk`).
//! 4. Report annotations that can't be gathered (made by a macro, inside a function) (`scan`).
//! 5. Do the same for the libraries that the chain takes handlers from (`libraries`).
//!
//! Syntax errors and missing modules are left to rustc, which reports them better.

pub mod cfg;
mod files;
mod item;
pub mod libraries;
pub(crate) mod package;
mod scan;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use syn::Token;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;

use crate::analyse::Surroundings;
use crate::diag::Place;
use crate::diag::findings::{Findings, Texts};
use crate::syntax::Mark;
use cfg::Cfg;
use libraries::Libraries;

pub use item::{attributes, is_app};
pub use scan::mentions;

/// A program's source.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Files, in order of discovery; the root first, and those of libraries last.
    pub files: Vec<File>,
    /// Items with `#[state]`, `#[message]` or the mark of a function, in source order.
    pub items: Vec<Annotated>,
    /// Calls of `app!`.
    pub calls: Vec<Call>,
    /// The libraries that the chain takes handlers from.
    pub libraries: Libraries,
    /// Statics that can change.
    pub statics: Vec<Static>,
    /// Functions that handlers may call.
    pub functions: Vec<Function>,
    /// Items that handlers may name and call.
    pub surroundings: Surroundings,
    /// Names of annotated items that their `#[cfg]` removes.
    pub removed: Vec<String>,
    /// All items that are compiled for the NIC, except modules.
    pub shared: Vec<Shared>,
    /// Paths from the root of items that the NIC half lacks.
    pub host_only: BTreeSet<Vec<String>>,
    /// Whether the nesting of a file exceeds the limit: the compiler may not survive it either.
    pub too_deep: bool,
    /// Whether its package has a NIC half: its manifest has the feature `nic`.
    pub has_nic: bool,
    /// Whether its manifest says that it shares a process with others.
    pub shares_process: bool,
    /// The error that rustc will report, if there is one; then the program was not read to its end.
    pub unreadable: Option<String>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path.
    pub path: PathBuf,
    /// Its path relative to the package's directory, with `/` on every machine. For a library that
    /// no path leads to: to the package's name and version.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether both halves are built from it.
    pub shared: bool,
}

/// The annotation of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// `#[state]`.
    State,
    /// `#[message]`.
    Message,
    /// The mark of a function.
    Function(Mark),
}

/// An item with an attribute of Cora.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The annotation.
    pub annotation: Annotation,
    /// Number of its file.
    pub file: usize,
    /// Its modules, from the root.
    pub module: Vec<String>,
    /// The reason that the root of the crate can't name it, if there is one: the item that would
    /// have to be `pub`.
    pub hidden: Option<String>,
    /// Whether it is `pub` itself.
    pub public: bool,
    /// The attribute's arguments.
    pub args: TokenStream,
    /// The item, as written.
    pub item: TokenStream,
}

/// A call of `app!`.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of its file.
    pub file: usize,
    /// Whether it is inside a module.
    pub in_module: bool,
    /// Its place.
    pub place: Place,
    /// Its arguments.
    pub arguments: TokenStream,
}

impl Call {
    /// The paths of the chain.
    pub fn paths(&self) -> syn::Result<Vec<syn::Path>> {
        let parser = Punctuated::<syn::Path, Token![,]>::parse_terminated;
        Ok(parser.parse2(self.arguments.clone())?.into_iter().collect())
    }
}

/// A static that can change.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its name.
    pub name: String,
    /// The reason that it can change, in a few words.
    pub how: &'static str,
}

/// A function without `#[flow_handler]`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Number of its file.
    pub file: usize,
    /// Its name.
    pub name: String,
    /// Its body.
    pub body: TokenStream,
}

/// An item of both halves.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Number of its file.
    pub file: usize,
    /// Its modules.
    pub module: Vec<String>,
    /// The item.
    pub item: syn::Item,
}

/// Reads the program of the package in `directory`.
pub fn run(directory: &Path, cfg: &Cfg, findings: &mut Findings) -> Source {
    let mut walk = walk::Walk::new(directory, cfg, findings);
    walk.source.has_nic = package::has_nic(directory);
    walk.source.shares_process = package::shares_process(directory);
    let root = ["src/main.rs", "src/lib.rs"].map(|name| directory.join(name));
    match root.iter().find(|path| path.is_file()) {
        Some(path) => walk.root(path),
        None => walk.source.unreadable = Some(format!("there is no `{}`", root[0].display())),
    }
    let source = walk.source;
    libraries::run(directory, cfg, source, findings)
}

impl Source {
    /// Digest of the source of both halves.
    pub fn digest(&self, cfg: &Cfg) -> u64 {
        let features: Vec<&str> = cfg.shared_features().collect();
        let features = features.join(",");
        let files = self.files.iter().filter(|file| file.shared);
        let files = files.map(|file| (file.name.as_str(), file.text.as_str()));
        let libraries = self.libraries.iter().filter_map(|(name, read)| {
            Some((name.as_str(), read.as_ref().ok()?.features.as_str()))
        });
        cora_plan::plan::digest(files.chain([("", features.as_str())]).chain(libraries))
    }
}

impl Texts for Source {
    fn text(&self, file: usize) -> Option<(&str, &str)> {
        self.files.get(file).map(|file| (file.name.as_str(), file.text.as_str()))
    }
}
