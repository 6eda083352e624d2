//! Libraries that the chain takes handlers from: those of other packages, or the package's own
//! beside its program.
//!
//! A library is read like the program itself. Its items stand in modules that begin with its name
//! ([`library`](crate::analyse::library)), so that no path of one crate leads into another by
//! chance. Only libraries that the chain names are read, and Cargo is asked for those alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::ext::IdentExt as _;

use super::cfg::Cfg;
use super::walk::Walk;
use super::{Source, package};
use crate::analyse::Surroundings;
use crate::diag::findings::Findings;
use crate::script::cargo::{Dependencies, Library, Unfound};

/// Crates that have no handlers.
const WITHOUT_HANDLERS: [&str; 4] = ["std", "core", "alloc", "cora"];

/// How many imports may lead to another one.
const MOST_STEPS: usize = 8;

/// The libraries of a program, by their names in it.
pub type Libraries = BTreeMap<String, Result<Read, Unfound>>;

/// A library that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Number of its first file, the root.
    pub file: usize,
    /// Its features that both halves share, for the plan's hash.
    pub features: String,
    /// The manifests that say where it is.
    pub manifests: Vec<PathBuf>,
}

/// Reads the libraries that the program's chain names.
pub(super) fn run(
    directory: &Path,
    cfg: &Cfg,
    mut source: Source,
    findings: &mut Findings,
) -> Source {
    let program = source.files.first().map(|root| root.path.clone());
    let own = package::library(directory).filter(|(_, root)| program.is_some_and(|it| it != *root));
    let mut dependencies = Dependencies::of(directory);
    for name in names(&source) {
        let found = match &own {
            Some((own, root)) if *own == name => Ok((beside(directory, root), cfg.clone())),
            _ => dependencies.find(&name, &|feature| cfg.has_feature(feature)).map(|library| {
                let cfg = cfg.with_features(&library.features);
                (library, cfg)
            }),
        };
        let read = found.map(|(library, cfg)| {
            let file = source.files.len();
            let features = cfg.shared_features().collect::<Vec<_>>().join(",");
            let place = (library.directory.as_path(), &cfg);
            let before = std::mem::take(&mut source);
            let mut walk = Walk::of_library((&name, library.shown), place, before, findings);
            walk.root(&library.root);
            source = walk.source;
            Read { file, features, manifests: library.manifests }
        });
        source.libraries.insert(name, read);
    }
    source
}

/// The library of the program's own package.
fn beside(directory: &Path, root: &Path) -> Library {
    Library {
        directory: directory.to_path_buf(),
        root: root.to_path_buf(),
        shown: String::new(),
        features: [].into(),
        manifests: vec![directory.join("Cargo.toml")],
    }
}

/// The libraries that the chain may name, in its order.
fn names(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    let paths = source.calls.first().and_then(|call| call.paths().ok()).unwrap_or_default();
    for path in &paths {
        for name in of_path(path, &source.surroundings) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The libraries that a path of the chain may lead into; several only by glob imports.
pub fn of_path(path: &syn::Path, around: &Surroundings) -> Vec<String> {
    let words: Vec<String> =
        path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    let mut names = match path.leading_colon {
        Some(_) => words.first().cloned().into_iter().collect(),
        None => follow(&words, around, MOST_STEPS),
    };
    names.retain(|name| !WITHOUT_HANDLERS.contains(&name.as_str()));
    names
}

fn follow(words: &[String], around: &Surroundings, steps: usize) -> Vec<String> {
    let Some(steps) = steps.checked_sub(1) else { return Vec::new() };
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    match first.as_str() {
        "crate" | "self" => return follow(rest, around, steps),
        "super" => return Vec::new(),
        _ => {}
    }
    let is_own = around
        .declared
        .iter()
        .any(|path| path.first() == Some(first) && (rest.is_empty() || path.len() > 1));
    if is_own {
        return Vec::new();
    }
    let imports = || around.imports.iter().filter(|import| import.module.is_empty());
    if let Some(import) = imports().find(|import| import.name.as_ref() == Some(first)) {
        return match import.path.split_first() {
            // `use nat::nat;` imports a function; `nat::…` is the crate all the same.
            Some((start, _)) if start == first => vec![first.clone()],
            _ => follow(&[&import.path, rest].concat(), around, steps),
        };
    }
    if !rest.is_empty() {
        return vec![first.clone()];
    }
    let globs = imports().filter(|import| import.name.is_none());
    globs.flat_map(|glob| follow(&[&glob.path, words].concat(), around, steps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_chain_leads_to_the_crates_that_rustc_would_look_in() {
        let file: syn::File = syn::parse_str(
            "use cora::prelude::*;
             use nat::nat;
             use balancer::{self as spread, deep};
             use shapers::*;
             use inner::*;
             use inner::again;
             mod inner {}
             fn own() {}",
        )
        .unwrap();
        let mut around = Surroundings::default();
        for item in &file.items {
            around.add(item, 0, &[]);
        }
        around.declared.insert(vec!["inner".to_owned(), "x".to_owned()]);
        for (path, names) in [
            ("own", vec![]),
            ("crate::own", vec![]),
            ("inner::x", vec![]),
            ("again", vec![]),
            ("nat", vec!["nat"]),
            ("nat::nat", vec!["nat"]),
            ("::own::x", vec!["own"]),
            ("spread::balancer", vec!["balancer"]),
            ("deep::balancer", vec!["balancer"]),
            ("firewall::firewall", vec!["firewall"]),
            ("shape", vec!["shapers"]),
            ("cora::wire", vec![]),
        ] {
            let path: syn::Path = syn::parse_str(path).unwrap();
            assert_eq!(
                of_path(&path, &around),
                names,
                "{}",
                quote::ToTokens::to_token_stream(&path)
            );
        }
    }
}
