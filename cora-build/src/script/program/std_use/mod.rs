//! `std` in code of both halves.
//!
//! The NIC half has only `core`, but a build of the host half also has `std`. So `Vec`, `println!`
//! and `Instant` in a handler would compile until the first build with a NIC half. Here they are
//! found in every build: paths into `std`, the names and macros that its prelude adds to that of
//! `core`, methods that need a heap, and items that `#[host_only]` removes at the NIC. Names that
//! the program declares or imports from elsewhere are its own.

mod names;

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use self::names::{Found, HOST_ONLY};
use crate::analyse::Surroundings;
use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::script::source::cfg::{Cfg, Condition, Truth};
use crate::script::source::{Shared, Source, is_app};

/// Checks every item that is compiled for the NIC.
pub(super) fn run(source: &Source, cfg: &Cfg, findings: &mut Findings) {
    let nic = cfg.of_the_nic();
    let methods: BTreeSet<String> = source
        .surroundings
        .routines
        .iter()
        .filter(|routine| routine.owner.is_some())
        .map(|routine| routine.signature.ident.to_string())
        .collect();
    for shared in &source.shared {
        let mut uses = Uses {
            source,
            nic: &nic,
            methods: &methods,
            module: &shared.module,
            own: own_names(&source.surroundings, shared),
            told: BTreeSet::new(),
            found: Vec::new(),
        };
        uses.visit_item(&shared.item);
        let place = names::place_of(&shared.item);
        for (span, found) in uses.found {
            let code =
                if found.cure == HOST_ONLY { codes::HOST_ONLY_REACHED } else { codes::STD_USED };
            findings.at(shared.file).error(code, span, found.message()).help(place.help(&found));
        }
    }
}

/// Names of `std`'s prelude with another meaning in an item, because of an import.
fn own_names(surroundings: &Surroundings, shared: &Shared) -> BTreeSet<String> {
    let is_own = |path: &[String]| {
        path.first().is_some_and(|first| first != "std" && first != "alloc" && first != "cora")
    };
    let imports = surroundings.imports.iter().filter(|import| import.module == shared.module);
    let mut own: BTreeSet<String> = BTreeSet::new();
    for import in imports.filter(|import| is_own(&import.path)) {
        match &import.name {
            Some(name) => {
                own.insert(name.clone());
            }
            // A glob import from another crate may contain any of the names.
            None if !["crate", "self", "super", "core"].contains(&import.path[0].as_str()) => {
                own.extend(names::PRELUDE.iter().map(|(name, _)| (*name).to_owned()));
            }
            None => {}
        }
    }
    let mut within = Imports(BTreeSet::new());
    within.visit_item(&shared.item);
    own.extend(within.0);
    own
}

/// The names that a `use` within a body imports from elsewhere than `std`, and its variables.
struct Imports(BTreeSet<String>);

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let words = super::super::source::mentions(&quote::ToTokens::to_token_stream(&item.tree));
        if words.first().is_some_and(|(first, _)| first != "std" && first != "alloc") {
            self.0.extend(words.into_iter().map(|(word, _)| word));
        }
    }

    /// A variable hides a function of the same name.
    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        self.0.insert(name.ident.to_string());
        visit::visit_pat_ident(self, name);
    }
}

struct Uses<'a> {
    source: &'a Source,
    nic: &'a Cfg,
    methods: &'a BTreeSet<String>,
    module: &'a [String],
    own: BTreeSet<String>,
    told: BTreeSet<String>,
    found: Vec<(Span, Found)>,
}

impl Uses<'_> {
    fn note(&mut self, span: Span, found: Found) {
        if self.told.insert(found.name.clone()) {
            self.found.push((span, found));
        }
    }

    /// Whether attributes remove an item at the NIC.
    fn is_left_out(&self, attributes: &[Attribute]) -> bool {
        let mut conditions = attributes.iter().filter_map(Condition::of);
        conditions.any(|condition| self.nic.holds(&condition) == Truth::False)
    }

    /// Whether a single name is the program's own.
    fn is_own(&self, name: &str) -> bool {
        self.own.contains(name)
            || self.source.surroundings.canonical(&[name.to_owned()], self.module).is_some()
    }

    fn path(&mut self, segments: &[(String, Span)]) {
        let Some((first, span)) = segments.first() else { return };
        let words: Vec<String> = segments.iter().map(|(word, _)| word.clone()).collect();
        if (first == "std" || first == "alloc") && words.len() > 1 {
            if !self.is_own(first) {
                self.note(*span, Found::path(&words));
            }
        } else if let Some(found) = Found::in_prelude(first)
            && !self.is_own(first)
        {
            self.note(*span, found);
        } else if let Some(whole) = self.source.surroundings.canonical(&words, self.module)
            && self.source.host_only.contains(&whole)
            && !(words.len() == 1 && self.own.contains(first))
        {
            self.note(*span, Found::host_only(&words.join("::")));
        }
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Vec<(String, Span)>) {
        match tree {
            UseTree::Path(path) => {
                before.push((path.ident.to_string(), path.ident.span()));
                self.tree(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => self.leaf(before, &name.ident),
            UseTree::Rename(name) => self.leaf(before, &name.ident),
            UseTree::Glob(_) => {
                self.path(&[before.as_slice(), &[("*".to_owned(), Span::call_site())]].concat());
            }
            UseTree::Group(group) => {
                for item in &group.items {
                    self.tree(item, before);
                }
            }
        }
    }

    fn leaf(&mut self, before: &[(String, Span)], name: &syn::Ident) {
        let mut whole = before.to_vec();
        whole.push((name.to_string(), name.span()));
        // `use name;` binds a name to itself, so only paths into `std` or `alloc` count.
        if whole.first().is_some_and(|(first, _)| first == "std" || first == "alloc") {
            self.path(&whole);
        }
    }

    /// The words of a macro's unparsed arguments.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let punct = |at: Option<usize>, wanted: char| {
            at.and_then(|at| tokens.get(at)).is_some_and(
                |token| matches!(token, TokenTree::Punct(it) if it.as_char() == wanted),
            )
        };
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(word) => {
                    let (name, span) = (word.to_string(), word.span());
                    let before = at.checked_sub(1);
                    if punct(before, '.') {
                        self.method(&name, span);
                    } else if punct(Some(at + 1), '!') {
                        self.macro_name(&[(name, span)]);
                    } else if punct(Some(at + 1), ':')
                        && punct(Some(at + 2), ':')
                        && !punct(before, ':')
                    {
                        let next = match tokens.get(at + 3) {
                            Some(TokenTree::Ident(next)) => next.to_string(),
                            _ => "*".to_owned(),
                        };
                        self.path(&[(name, span), (next, span)]);
                    }
                }
                _ => {}
            }
        }
    }

    fn method(&mut self, name: &str, span: Span) {
        if let Some(found) = Found::method(name)
            && !self.methods.contains(name)
        {
            self.note(span, found);
        }
    }

    fn macro_name(&mut self, path: &[(String, Span)]) {
        if let [(name, span)] = path {
            if let Some(found) = Found::in_macros(name)
                && !self.is_own(name)
            {
                self.note(*span, found);
            }
        } else {
            self.path(path);
        }
    }
}

fn segments(path: &syn::Path) -> Vec<(String, Span)> {
    path.segments.iter().map(|it| (it.ident.to_string(), it.ident.span())).collect()
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.is_left_out(super::super::source::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !self.is_left_out(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !self.is_left_out(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !self.is_left_out(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_stmt_macro(&mut self, called: &'ast syn::StmtMacro) {
        if !self.is_left_out(&called.attrs) {
            visit::visit_stmt_macro(self, called);
        }
    }

    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        if !self.is_left_out(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !self.is_left_out(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let name = item.ident.to_string();
        if name == "std" || name == "alloc" {
            self.note(item.ident.span(), Found::path(&[name]));
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(&segments(path));
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.method(&call.method.to_string(), call.method.span());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        // It names handlers, of which the NIC leaves out those of the host.
        if is_app(&called.path) {
            return;
        }
        self.macro_name(&segments(&called.path));
        self.scan(called.tokens.clone());
    }

    /// A macro's definition is not yet code.
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if !item.mac.path.is_ident("macro_rules") {
            visit::visit_item_macro(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
