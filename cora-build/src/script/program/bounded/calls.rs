//! Functions that may call themselves.
//!
//! Names are followed, not types: `value.name()` may be any method of this name that the program
//! has, and what a generic parameter or a trait has may be anybody's. Operators are not followed.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Signature, Type};

use super::SAYS;
use crate::script::source::{Shared, Source};
use crate::syntax::{Mark, is_attribute};

/// A row of calls that ends where it began.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// Number of the file, and the call there that closes it.
    pub(super) file: usize,
    pub(super) at: Span,
    /// The functions, of which the last one is the first.
    names: Vec<String>,
    /// A method is only known by its name.
    by_name: bool,
}

impl Cycle {
    pub(super) fn sentence(&self) -> String {
        let first = self.names.first().map_or("", String::as_str);
        let way: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let way =
            if self.names.len() > 2 { format!(": {}", way.join(" → ")) } else { String::new() };
        format!("`{first}` may call itself{way}, and the program shares a process ({SAYS})")
    }

    pub(super) const fn cure(&self) -> &'static str {
        if self.by_name {
            "a method is known by its name alone: if it is that of another type, write \
             `Type::name(value)`; or else make it a `for` with a bound"
        } else {
            "make it a `for` with a bound, and keep what is left to do in an array"
        }
    }
}

/// The rows of calls among the functions that handlers reach, one for each call that closes one.
pub(super) fn run(source: &Source) -> Vec<Cycle> {
    let mut program = Functions::default();
    for shared in &source.shared {
        let mut reader = Reader {
            all: &mut program,
            file: shared.file,
            owner: None,
            of_trait: false,
            now: None,
            bound: BTreeSet::new(),
        };
        reader.visit(shared);
    }
    let mut search = Search {
        edges: program.edges(),
        all: &program.all,
        seen: BTreeSet::new(),
        row: Vec::new(),
        found: Vec::new(),
    };
    for root in (0..program.all.len()).filter(|at| program.all[*at].is_root) {
        search.from(root);
    }
    search.found
}

/// A function or method.
#[derive(Debug)]
struct Function {
    file: usize,
    name: String,
    /// The type or the trait that it is of.
    owner: Option<String>,
    /// The runtime may call it.
    is_root: bool,
    calls: Vec<(Span, Callee)>,
}

/// What is called, as far as its words tell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Callee {
    Free(String),
    Of(String, String),
    /// A method of `self`: of its type, or else of any.
    Own(String, String),
    Method(String),
}

#[derive(Debug, Default)]
struct Functions {
    all: Vec<Function>,
    /// Traits and generic parameters: what is called of one may be anybody's.
    open: BTreeSet<String>,
    aliases: BTreeMap<String, String>,
}

impl Functions {
    /// The functions that each one may call: the place, which, and whether the name alone tells.
    fn edges(&self) -> Vec<Vec<(Span, usize, bool)>> {
        let of = |function: &Function| {
            let calls = function.calls.iter();
            calls.flat_map(|(at, callee)| self.called(*at, callee)).collect()
        };
        self.all.iter().map(of).collect()
    }

    fn called(&self, at: Span, callee: &Callee) -> Vec<(Span, usize, bool)> {
        let has = |owner: &String, name: &String| {
            self.all.iter().any(|it| it.owner.as_ref() == Some(owner) && it.name == *name)
        };
        let (owner, name, by_name) = match callee {
            Callee::Free(name) => (None, name, false),
            Callee::Of(owner, name) if self.open.contains(owner) => (None, name, true),
            Callee::Of(owner, name) => {
                (Some(self.aliases.get(owner).unwrap_or(owner)), name, false)
            }
            Callee::Own(owner, name) if has(owner, name) => (Some(owner), name, false),
            Callee::Own(_, name) | Callee::Method(name) => (None, name, true),
        };
        let is_it = |it: &Function| {
            let of = if by_name { it.owner.is_some() } else { it.owner.as_ref() == owner };
            of && it.name == *name
        };
        let all = self.all.iter().enumerate();
        all.filter(|(_, it)| is_it(it)).map(|(number, _)| (at, number, by_name)).collect()
    }
}

/// Reads the functions of an item.
struct Reader<'a> {
    all: &'a mut Functions,
    file: usize,
    owner: Option<String>,
    of_trait: bool,
    /// The function whose body is read.
    now: Option<usize>,
    /// Its variables.
    bound: BTreeSet<String>,
}

impl Reader<'_> {
    fn visit(&mut self, shared: &Shared) {
        self.visit_item(&shared.item);
    }

    fn function(&mut self, signature: &Signature, attributes: &[Attribute], block: &Block) {
        let is_marked = |attribute: &Attribute| {
            Mark::ALL.into_iter().any(|mark| is_attribute(attribute, mark.attribute()))
        };
        let name = signature.ident.to_string();
        // How a value is shown is nothing that handlers do.
        let is_root = attributes.iter().any(is_marked) || (self.of_trait && name != "fmt");
        let owner = self.owner.clone();
        self.all.all.push(Function { file: self.file, name, owner, is_root, calls: Vec::new() });
        let now = self.now.replace(self.all.all.len() - 1);
        let mut variables = Variables(BTreeSet::new());
        variables.visit_signature(signature);
        variables.visit_block(block);
        let bound = std::mem::replace(&mut self.bound, variables.0);
        self.visit_signature(signature);
        self.visit_block(block);
        (self.now, self.bound) = (now, bound);
    }

    fn calls(&mut self, at: Span, callee: Callee) {
        if let Some(function) = self.now.and_then(|now| self.all.all.get_mut(now)) {
            function.calls.push((at, callee));
        }
    }

    /// Calls within a macro's tokens: a name in front of parentheses.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut before: Option<(proc_macro2::Ident, bool)> = None;
        let mut is_method = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => before = Some((ident, is_method)),
                TokenTree::Group(group) => {
                    if let Some((ident, method)) = before.take()
                        && group.delimiter() == proc_macro2::Delimiter::Parenthesis
                    {
                        let name = ident.to_string();
                        if !method {
                            self.calls(ident.span(), Callee::Free(name.clone()));
                        }
                        self.calls(ident.span(), Callee::Method(name));
                    }
                    self.tokens(group.stream());
                }
                TokenTree::Punct(sign) => {
                    is_method = sign.as_char() == '.';
                    before = None;
                    continue;
                }
                TokenTree::Literal(_) => before = None,
            }
            is_method = false;
        }
    }

    fn path(&mut self, path: &syn::Path) {
        let mut words = path.segments.iter().rev().map(|it| &it.ident);
        let Some(last) = words.next() else { return };
        let (name, at) = (last.to_string(), last.span());
        let callee = match words.next().map(ToString::to_string) {
            Some(of) if of == "Self" => match self.owner.clone() {
                Some(owner) => Callee::Of(owner, name),
                None => Callee::Method(name),
            },
            Some(of) if of.starts_with(char::is_uppercase) => Callee::Of(of, name),
            _ => Callee::Free(name),
        };
        self.calls(at, callee);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        let owner = self.owner.take();
        let of_trait = std::mem::take(&mut self.of_trait);
        self.function(&it.sig, &it.attrs, &it.block);
        (self.owner, self.of_trait) = (owner, of_trait);
    }

    fn visit_item_impl(&mut self, it: &'ast syn::ItemImpl) {
        let owner = std::mem::replace(&mut self.owner, last_word(&it.self_ty));
        let of_trait = std::mem::replace(&mut self.of_trait, it.trait_.is_some());
        visit::visit_item_impl(self, it);
        (self.owner, self.of_trait) = (owner, of_trait);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.function(&it.sig, &it.attrs, &it.block);
    }

    fn visit_item_trait(&mut self, it: &'ast syn::ItemTrait) {
        let name = it.ident.to_string();
        self.all.open.insert(name.clone());
        let owner = self.owner.replace(name);
        visit::visit_item_trait(self, it);
        self.owner = owner;
    }

    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(block) = &it.default {
            self.function(&it.sig, &it.attrs, block);
        }
    }

    fn visit_type_param(&mut self, it: &'ast syn::TypeParam) {
        self.all.open.insert(it.ident.to_string());
        visit::visit_type_param(self, it);
    }

    fn visit_item_type(&mut self, it: &'ast syn::ItemType) {
        if let Some(of) = last_word(&it.ty) {
            self.all.aliases.insert(it.ident.to_string(), of);
        }
    }

    fn visit_item_macro(&mut self, it: &'ast syn::ItemMacro) {
        let Some(ident) = &it.ident else { return };
        let (file, name) = (self.file, format!("{ident}!"));
        self.all.all.push(Function { file, name, owner: None, is_root: false, calls: Vec::new() });
        let before = self.now.replace(self.all.all.len() - 1);
        self.tokens(it.mac.tokens.clone());
        self.now = before;
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        if let Some(last) = it.path.segments.last() {
            self.calls(last.ident.span(), Callee::Free(format!("{}!", last.ident)));
        }
        self.tokens(it.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        let name = call.method.to_string();
        let callee = match self.owner.clone().filter(|_| is_self) {
            Some(owner) => Callee::Own(owner, name),
            None => Callee::Method(name),
        };
        self.calls(call.method.span(), callee);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        match &*call.func {
            Expr::Path(path) => self.path(&path.path),
            other => self.visit_expr(other),
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    /// A function that is passed on may be called.
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let variable = path.path.get_ident().map(ToString::to_string);
        if !variable.is_some_and(|name| self.bound.contains(&name)) {
            self.path(&path.path);
        }
    }
}

/// The variables of a function.
struct Variables(BTreeSet<String>);

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        self.0.insert(name.ident.to_string());
        visit::visit_pat_ident(self, name);
    }
}

/// The last word of a type's path.
fn last_word(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        Type::Reference(reference) => last_word(&reference.elem),
        Type::Group(group) => last_word(&group.elem),
        Type::Paren(paren) => last_word(&paren.elem),
        _ => None,
    }
}

/// A search in depth.
struct Search<'a> {
    all: &'a [Function],
    edges: Vec<Vec<(Span, usize, bool)>>,
    seen: BTreeSet<usize>,
    /// The functions that are being entered, and whether each is known by its name alone.
    row: Vec<(usize, bool)>,
    found: Vec<Cycle>,
}

impl Search<'_> {
    fn from(&mut self, function: usize) {
        if self.seen.insert(function) {
            self.enter(function, false);
        }
    }

    fn enter(&mut self, function: usize, by_name: bool) {
        self.row.push((function, by_name));
        for (at, callee, by_name) in self.edges[function].clone() {
            if let Some(from) = self.row.iter().position(|(it, _)| *it == callee) {
                self.closes(from, at, by_name);
            } else if self.seen.insert(callee) {
                self.enter(callee, by_name);
            }
        }
        self.row.pop();
    }

    fn closes(&mut self, from: usize, at: Span, by_name: bool) {
        let Some(&(first, _)) = self.row.get(from) else { return };
        let Some(&(last, _)) = self.row.last() else { return };
        let name = |it: usize| self.all[it].name.clone();
        let names = self.row[from..].iter().map(|(it, _)| name(*it)).chain([name(first)]);
        let by_name = by_name || self.row[from + 1..].iter().any(|(_, by_name)| *by_name);
        let names = names.collect();
        self.found.push(Cycle { file: self.all[last].file, at, names, by_name });
    }
}
