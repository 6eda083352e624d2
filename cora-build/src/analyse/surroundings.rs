//! The surroundings of a handler: the program's functions and methods, and the resolution of paths
//! to them.

use std::collections::BTreeSet;

/// Maximum length of a chain of imports.
const MOST_STEPS: usize = 8;

/// The items of a program that a handler's body may name.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Functions and methods with bodies.
    pub routines: Vec<Routine>,
    /// Imports of modules.
    pub imports: Vec<Import>,
    /// Paths from the root of all named items, including modules. Those of another crate begin with
    /// its [`library`].
    pub declared: BTreeSet<Vec<String>>,
}

/// The first word of a module of another crate, in place of its name: no module of the program is
/// called so.
pub fn library(name: &str) -> String {
    format!("::{name}")
}

/// The name of the other crate that a module belongs to; `None` for the program's own.
pub fn library_of(module: &[String]) -> Option<&str> {
    module.first()?.strip_prefix("::")
}

/// The root of a module's crate.
fn root_of(module: &[String]) -> &[String] {
    if library_of(module).is_some() { &module[..1] } else { &[] }
}

/// A function or method.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Number of its file.
    pub file: usize,
    /// Its modules, from the root.
    pub module: Vec<String>,
    /// The type of its `impl`, as written; `None` for a free function.
    pub owner: Option<Vec<String>>,
    /// Its signature.
    pub signature: syn::Signature,
    /// Its body.
    pub block: syn::Block,
}

/// An import by `use`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The importing module.
    pub module: Vec<String>,
    /// Its name there; `None` for a glob import.
    pub name: Option<String>,
    /// Its path, as written.
    pub path: Vec<String>,
}

impl Surroundings {
    /// Resolves a path in a module to a path from the root; `None` for items of crates that the
    /// program was not read with.
    pub fn canonical(&self, path: &[String], module: &[String]) -> Option<Vec<String>> {
        self.resolve(path, module, MOST_STEPS)
    }

    /// The unique function or method that a path in a module resolves to.
    pub(crate) fn routine(&self, path: &[String], module: &[String]) -> Option<usize> {
        if let Some(whole) = self.canonical(path, module) {
            let is_it = |routine: &Routine| {
                routine.owner.is_none()
                    && routine.signature.ident == whole.last().map_or("", String::as_str)
                    && routine.module == whole[..whole.len() - 1]
            };
            return self.only(is_it);
        }
        let (name, owner) = path.split_last()?;
        let owner = self.canonical(owner, module)?;
        self.method(&owner, name)
    }

    /// The unique method or associated function of this name that the program defines on its own
    /// type.
    pub(super) fn method(&self, owner: &[String], name: &str) -> Option<usize> {
        self.only(|routine| {
            routine.signature.ident == name
                && routine.owner.as_ref().is_some_and(|written| {
                    self.canonical(written, &routine.module).as_deref() == Some(owner)
                })
        })
    }

    /// The unique method of this name that the program defines on tables, by its own trait.
    pub(super) fn table_method(&self, name: &str) -> Option<usize> {
        self.only(|routine| {
            routine.signature.ident == name
                && routine.owner.as_ref().is_some_and(|written| {
                    written.last().is_some_and(|last| last == "Table")
                        && self.canonical(written, &routine.module).is_none()
                })
        })
    }

    fn only(&self, is_it: impl Fn(&Routine) -> bool) -> Option<usize> {
        let mut found = (0..self.routines.len()).filter(|at| is_it(&self.routines[*at]));
        let first = found.next()?;
        // Two with the same name: under exclusive conditions, or of several traits.
        found.next().is_none().then_some(first)
    }

    fn resolve(&self, path: &[String], module: &[String], steps: usize) -> Option<Vec<String>> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.below(root_of(module), rest, steps),
            "self" => return self.below(module, rest, steps),
            "super" if module == root_of(module) => return None,
            "super" => {
                let (_, parent) = module.split_last()?;
                let mut inner = vec!["self".to_owned()];
                inner.extend_from_slice(rest);
                return self.resolve(&inner, parent, steps);
            }
            _ => {}
        }
        self.below(module, path, steps).or_else(|| self.in_library(first, rest, module, steps))
    }

    /// Resolves a path that begins with the name of another crate. Another crate's own names for
    /// crates are not known.
    fn in_library(
        &self,
        name: &str,
        rest: &[String],
        module: &[String],
        steps: usize,
    ) -> Option<Vec<String>> {
        let root = vec![library(name)];
        let known = library_of(module).is_none() && self.declared.contains(&root);
        if known { self.below(&root, rest, steps) } else { None }
    }

    /// Resolves a `path` that begins with a name of `module`.
    fn below(&self, module: &[String], path: &[String], steps: usize) -> Option<Vec<String>> {
        let Some((first, rest)) = path.split_first() else {
            return (module.is_empty() || self.declared.contains(module)).then(|| module.to_vec());
        };
        if first == "super" {
            return self.resolve(path, module, steps);
        }
        let mut here = module.to_vec();
        here.push(first.clone());
        if self.declared.contains(&here) {
            return if rest.is_empty() { Some(here) } else { self.below(&here, rest, steps) };
        }
        let steps = steps.checked_sub(1)?;
        let imports = || self.imports.iter().filter(|import| import.module == module);
        if let Some(named) = imports().find(|import| import.name.as_ref() == Some(first)) {
            let mut whole = named.path.clone();
            whole.extend_from_slice(rest);
            // `use a::b;` in the root of edition 2018 may refer to a crate of that name; it is not
            // resolved.
            let itself = named.path.first() == Some(first) && named.path.len() == 1;
            return if itself { None } else { self.resolve(&whole, module, steps) };
        }
        imports().filter(|import| import.name.is_none()).find_map(|glob| {
            let mut whole = glob.path.clone();
            whole.extend_from_slice(path);
            self.resolve(&whole, module, steps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str) -> Vec<String> {
        path.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn import(module: &str, name: &str, path: &str) -> Import {
        let name = (name != "*").then(|| name.to_owned());
        Import { module: words(module), name, path: words(path) }
    }

    #[test]
    fn paths_are_followed_as_rustc_does() {
        let declared =
            ["a", "a::f", "a::b", "a::b::g", "h"].into_iter().map(words).collect::<BTreeSet<_>>();
        let imports = vec![
            import("", "g", "a::b::g"),
            import("", "take", "elsewhere::take"),
            import("a", "again", "super::g"),
            import("a::b", "*", "super"),
            import("a::b", "loop1", "self::loop1"),
        ];
        let program = Surroundings { routines: Vec::new(), imports, declared };
        for (path, module, means) in [
            ("h", "", "h"),
            ("crate::a::f", "a::b", "a::f"),
            ("a::f", "", "a::f"),
            ("g", "", "a::b::g"),
            ("again", "a", "a::b::g"),
            ("a::again", "", "a::b::g"),
            ("f", "a::b", "a::f"),
            ("super::super::h", "a::b", "h"),
            ("h", "a", ""),
            ("take", "", ""),
            ("elsewhere::h", "", ""),
            ("loop1", "a::b", ""),
        ] {
            let found = program.canonical(&words(path), &words(module));
            let wanted = (!means.is_empty()).then(|| words(means));
            assert_eq!(found, wanted, "{path} in `{module}`");
        }
    }

    #[test]
    fn paths_lead_into_other_crates_that_were_read() {
        let nat = |rest: &[&str]| {
            let rest = rest.iter().map(|word| (*word).to_owned());
            [library("nat")].into_iter().chain(rest).collect::<Vec<String>>()
        };
        let mut declared: BTreeSet<Vec<String>> = ["here"].into_iter().map(words).collect();
        declared.extend([nat(&[]), nat(&["nat"]), nat(&["pool"]), nat(&["pool", "Pool"])]);
        let mut imports = vec![import("", "nat", "nat::nat"), import("", "*", "nat::pool")];
        imports.push(Import {
            module: nat(&[]),
            name: Some("again".to_owned()),
            path: words("crate::pool::Pool"),
        });
        let program = Surroundings { routines: Vec::new(), imports, declared };
        for (path, module, means) in [
            ("nat", vec![], Some(nat(&["nat"]))),
            ("nat::nat", vec![], Some(nat(&["nat"]))),
            ("nat::again", vec![], Some(nat(&["pool", "Pool"]))),
            ("Pool", vec![], Some(nat(&["pool", "Pool"]))),
            ("crate::here", nat(&[]), None),
            ("super::here", nat(&[]), None),
            ("super::nat", nat(&["pool"]), Some(nat(&["nat"]))),
            ("other::nat", vec![], None),
        ] {
            assert_eq!(program.canonical(&words(path), &module), means, "{path} in {module:?}");
        }
    }
}
