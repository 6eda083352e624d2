//! Walks the modules of a crate and gathers the contents of [`Source`].

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Attribute, Item, Meta, Visibility};

use super::files::{Directories, Found};
use super::item::{annotated, attributes, body, changes, is_app, is_public, name, visibility};
use super::{Annotated, Annotation, Call, File, Function, Shared, Source, Static, scan};
use crate::analyse::library;
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::script::source::cfg::{Cfg, Condition, Truth, conditional};
use crate::syntax::handler::is_at_host;
use crate::syntax::{Mark, depth, is_attribute};

pub(super) struct Walk<'a> {
    directory: &'a Path,
    cfg: &'a Cfg,
    nic: Cfg,
    findings: &'a mut Findings,
    /// The module of the root: empty, or the name of another crate.
    root: Vec<String>,
    /// What stands before a file's path within its package.
    shown: String,
    /// Number of the crate's first file.
    first: usize,
    pub(super) source: Source,
}

/// The current place of the walk.
#[derive(Clone)]
struct Here {
    file: usize,
    module: Vec<String>,
    directories: Directories,
    /// The item that would have to be `pub` for the root to name items here.
    hidden: Option<String>,
    /// An enclosing condition that differs between NIC and host.
    side: Option<String>,
    /// Whether this belongs to the NIC half.
    at_nic: bool,
}

/// A file to read, and its context.
struct Entry {
    found: Found,
    module: Vec<String>,
    hidden: Option<String>,
    side: Option<String>,
    at_nic: bool,
}

/// Whether the item is a handler that is kept at the host.
fn stays_at_host(item: &Item) -> bool {
    annotated(item).is_some_and(|(_, attribute)| {
        let is_handler = is_attribute(attribute, Mark::Handler.attribute());
        is_handler && attribute.meta.require_list().is_ok_and(|list| is_at_host(&list.tokens))
    })
}

impl<'a> Walk<'a> {
    pub(super) fn new(directory: &'a Path, cfg: &'a Cfg, findings: &'a mut Findings) -> Self {
        let (root, shown, source) = (Vec::new(), String::new(), Source::default());
        Self { directory, cfg, nic: cfg.of_the_nic(), findings, root, shown, first: 0, source }
    }

    /// For the library `name`, which adds to `source`. Names of its files begin with `shown`.
    pub(super) fn of_library(
        (name, shown): (&str, String),
        (directory, cfg): (&'a Path, &'a Cfg),
        source: Source,
        findings: &'a mut Findings,
    ) -> Self {
        let (root, first) = (vec![library(name)], source.files.len());
        Self { directory, cfg, nic: cfg.of_the_nic(), findings, root, shown, first, source }
    }

    pub(super) fn root(&mut self, path: &Path) {
        let found = Found { path: path.to_path_buf(), beside: true };
        let module = self.root.clone();
        if self.is_library() {
            self.source.surroundings.declared.insert(module.clone());
        }
        self.file(Entry { found, module, hidden: None, side: None, at_nic: true });
    }

    /// The files of this crate so far.
    fn files(&self) -> &[File] {
        self.source.files.get(self.first..).unwrap_or_default()
    }

    fn is_library(&self) -> bool {
        !self.root.is_empty()
    }

    /// Whether the program's root can't name an item of this visibility.
    fn hides(&self, visibility: &Visibility, here: &Here) -> bool {
        if self.is_library() {
            return !matches!(visibility, Visibility::Public(_));
        }
        !here.module.is_empty() && matches!(visibility, Visibility::Inherited)
    }

    fn file(&mut self, entry: Entry) {
        let Entry { found, module, hidden, side, at_nic } = entry;
        let name = self.name(&found.path);
        let text = match std::fs::read_to_string(&found.path) {
            Ok(text) => text,
            Err(error) => return self.unreadable(format!("{name}: {error}")),
        };
        let file = self.source.files.len();
        let deep = text.parse().ok().as_ref().and_then(depth::exceeded);
        let parsed = deep.is_none().then(|| syn::parse_file(&text));
        let path = found.path.clone();
        self.source.files.push(File { path, name: name.clone(), text, shared: side.is_none() });
        let parsed = match parsed {
            Some(Ok(parsed)) => parsed,
            None => {
                let span = deep.unwrap_or_else(proc_macro2::Span::call_site);
                let sink = self.findings.at(file);
                sink.error(codes::NESTED_TOO_DEEP, span, depth::MESSAGE).help(depth::HELP);
                self.source.too_deep = true;
                return;
            }
            Some(Err(error)) => {
                let at = error.span().start();
                return self.unreadable(format!("{name}:{}:{}: {error}", at.line, at.column + 1));
            }
        };
        let directories = Directories::of_file(&found);
        let here = Here { file, module, directories, hidden, side, at_nic };
        let Some(here) = self.enter(here, &parsed.attrs) else { return };
        for item in &parsed.items {
            self.item(item, &here);
        }
    }

    fn unreadable(&mut self, why: String) {
        self.source.unreadable.get_or_insert(why);
    }

    /// Path of a file relative to the package's directory, the same on every machine.
    fn name(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.directory).unwrap_or(path);
        let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        let name = parts.join("/");
        if self.shown.is_empty() { name } else { format!("{}/{name}", self.shown) }
    }

    /// The place under these attributes' conditions; `None` if they remove it from both halves.
    fn enter(&mut self, mut here: Here, attributes: &[Attribute]) -> Option<Here> {
        for condition in attributes.iter().filter_map(Condition::of) {
            here.at_nic &= self.nic.holds(&condition) != Truth::False;
            if let Some(side) = condition.side() {
                // Read even if it is false, because its faults must be reported for both halves.
                here.side.get_or_insert(side);
            } else if self.cfg.holds(&condition) == Truth::False {
                return None;
            }
        }
        Some(here)
    }

    fn item(&mut self, item: &Item, around: &Here) {
        let Some(here) = self.enter(around.clone(), attributes(item)) else {
            self.source.removed.extend(annotated(item).map(|_| name(item)));
            return;
        };
        self.source.surroundings.add(item, here.file, &here.module);
        self.by_half(item, &here);
        match item {
            Item::Mod(module) => self.module(module, here),
            Item::Macro(call) => self.macro_item(call, &here),
            _ => {
                self.attributes_within_cfg_attr(item, &here);
                match annotated(item) {
                    Some((annotation, attribute)) => {
                        self.annotated(item, annotation, attribute, &here);
                    }
                    None => self.plain(item, &here),
                }
            }
        }
    }

    /// Records the halves of an item.
    fn by_half(&mut self, item: &Item, here: &Here) {
        let (file, module) = (here.file, here.module.clone());
        if here.at_nic && !stays_at_host(item) {
            if let Some(path) = named(item, &module) {
                self.source.host_only.remove(&path);
            }
            if !matches!(item, Item::Mod(_)) {
                self.source.shared.push(Shared { file, module, item: item.clone() });
            }
        } else if let Some(path) = named(item, &module) {
            let elsewhere = self.source.shared.iter();
            if elsewhere.filter_map(|it| named(&it.item, &it.module)).all(|it| it != path) {
                self.source.host_only.insert(path);
            }
        }
    }

    fn module(&mut self, item: &syn::ItemMod, mut here: Here) {
        let name = item.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
        let path = self.path_attribute(&item.attrs);
        if self.hides(&item.vis, &here) {
            here.hidden.get_or_insert(format!("mod {name}"));
        }
        here.module.push(name.clone());
        self.undetermined(&item.attrs, &here, &format!("module `{name}`"));
        if let Some((_, items)) = &item.content {
            here.directories = here.directories.inline(&name, path.as_deref());
            for item in items {
                self.item(item, &here);
            }
            return;
        }
        let Here { module, directories, hidden, side, at_nic, .. } = here;
        match directories.find(&name, path.as_deref()) {
            Some(found) if self.files().iter().any(|file| file.path == found.path) => {
                self.unreadable(format!("{} is a module twice", found.path.display()));
            }
            Some(found) => self.file(Entry { found, module, hidden, side, at_nic }),
            // One half may lack the file.
            None if side.is_some() => {}
            None => self.unreadable(format!("there is no file for module `{name}`")),
        }
    }

    /// The value of `#[path = "…"]`, also within a `#[cfg_attr]` that holds.
    fn path_attribute(&self, attributes: &[Attribute]) -> Option<String> {
        attributes.iter().find_map(|attribute| {
            if let Some((condition, inner)) = conditional(attribute) {
                if self.cfg.holds(&condition) != Truth::True {
                    return None;
                }
                return inner.into_iter().find_map(|meta| path_of(&syn::parse2(meta).ok()?));
            }
            path_of(&attribute.meta)
        })
    }

    fn macro_item(&mut self, item: &syn::ItemMacro, here: &Here) {
        let path: Vec<String> =
            item.mac.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if is_app(&item.mac.path) {
            if self.is_library() {
                // Its own program, which no other one runs.
                return;
            }
            self.source.calls.push(Call {
                file: here.file,
                in_module: !here.module.is_empty(),
                place: Place::of(&item.mac),
                arguments: item.mac.tokens.clone(),
            });
            return;
        }
        if path == ["thread_local"] {
            self.thread_locals(&item.mac.tokens);
        }
        for (span, name) in scan::annotations(&item.mac.tokens) {
            self.findings
                .at(here.file)
                .error(
                    codes::MADE_BY_MACRO,
                    span,
                    format!("`#[{name}]` stands in a macro, where the plan can't see it"),
                )
                .help("write the item out");
        }
    }

    fn thread_locals(&mut self, tokens: &TokenStream) {
        let mut words = tokens.clone().into_iter().peekable();
        while let Some(word) = words.next() {
            let is_static = matches!(&word, proc_macro2::TokenTree::Ident(i) if i == "static");
            if let (true, Some(proc_macro2::TokenTree::Ident(name))) = (is_static, words.peek()) {
                let (name, how) = (name.to_string(), "every thread has its own");
                self.source.statics.push(Static { name, how });
            }
        }
    }

    fn attributes_within_cfg_attr(&mut self, item: &Item, here: &Here) {
        for attribute in attributes(item) {
            let Some((_, inner)) = conditional(attribute) else { continue };
            for meta in inner.into_iter().filter_map(|meta| syn::parse2::<Meta>(meta).ok()) {
                let Some(name) = meta.path().segments.last().map(|s| s.ident.to_string()) else {
                    continue;
                };
                if name == "state"
                    || name == "message"
                    || Mark::ALL.iter().any(|mark| name == mark.attribute())
                {
                    self.findings
                        .at(here.file)
                        .error(
                            codes::CONDITIONAL_ATTRIBUTE,
                            Place::of(attribute),
                            format!("`#[{name}]` stands within `#[cfg_attr]`"),
                        )
                        .help("make two items, each under its `#[cfg]`");
                }
            }
        }
    }

    fn annotated(
        &mut self,
        item: &Item,
        annotation: Annotation,
        attribute: &Attribute,
        here: &Here,
    ) {
        let name = name(item);
        if let Some(side) = &here.side {
            self.findings
                .at(here.file)
                .error(
                    codes::DIFFERS_BY_SIDE,
                    Place::of(attribute),
                    format!("`{name}` is there only under `{side}`: the two halves would differ"),
                )
                .help("take the condition away; the plan says where things run");
            return;
        }
        self.undetermined(attributes(item), here, &format!("`{name}`"));
        self.within(&body(item), here);
        let hides = visibility(item).is_some_and(|visibility| self.hides(visibility, here));
        let hidden = match &here.hidden {
            Some(hidden) => Some(hidden.clone()),
            None => hides.then(|| format!("fn {name}")),
        };
        let args = match &attribute.meta {
            Meta::List(list) => list.tokens.clone(),
            Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
        };
        self.source.items.push(Annotated {
            annotation,
            file: here.file,
            module: here.module.clone(),
            hidden,
            public: is_public(item),
            args,
            item: item.to_token_stream(),
        });
    }

    /// Warns of undetermined conditions.
    fn undetermined(&mut self, attributes: &[Attribute], here: &Here, what: &str) {
        for attribute in attributes {
            let Some(condition) = Condition::of(attribute) else { continue };
            if condition.side().is_none() && self.cfg.holds(&condition) == Truth::Undetermined {
                self.findings
                    .at(here.file)
                    .warning(
                        codes::UNDETERMINED,
                        Place::of(attribute),
                        format!("whether {what} is there can't be told: it counts as present"),
                    )
                    .help("use a feature");
            }
        }
    }

    /// An item that is not annotated.
    fn plain(&mut self, item: &Item, here: &Here) {
        match item {
            Item::Static(item) => {
                if let Some(how) = changes(item) {
                    self.source.statics.push(Static { name: item.ident.to_string(), how });
                }
            }
            Item::Fn(item) => self.source.functions.push(Function {
                file: here.file,
                name: item.sig.ident.to_string(),
                body: item.block.to_token_stream(),
            }),
            _ => {}
        }
        if !matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
            self.within(&body(item), here);
        }
    }

    /// Refuses annotated items inside the body of another.
    fn within(&mut self, body: &TokenStream, here: &Here) {
        for (span, name) in scan::annotations(body) {
            self.findings
                .at(here.file)
                .error(
                    codes::NOT_IN_MODULE,
                    span,
                    format!("`#[{name}]` stands on an item that is not in a module"),
                )
                .help("move it out of the function or impl around it");
        }
    }
}

/// The path from the root of a named item.
fn named(item: &Item, module: &[String]) -> Option<Vec<String>> {
    let name = match item {
        Item::Mod(module) => module.ident.to_string(),
        Item::Impl(_) | Item::Use(_) | Item::Macro(_) => return None,
        other => name(other),
    };
    Some(module.iter().cloned().chain([name]).collect())
}

fn path_of(meta: &Meta) -> Option<String> {
    let Meta::NameValue(pair) = meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else {
        return None;
    };
    pair.path.is_ident("path").then(|| PathBuf::from(path.value()).to_string_lossy().into_owned())
}
