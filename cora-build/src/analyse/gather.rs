//! Gathers the names available to a handler's body: functions, methods, and imports.

use syn::ext::IdentExt as _;
use syn::{ImplItem, Item, ItemImpl, Type, UseTree};

use super::surroundings::{Import, Routine, Surroundings};

impl Surroundings {
    /// Adds an item of file number `file` in the module `module`. The items of a module are added
    /// separately.
    pub fn add(&mut self, item: &Item, file: usize, module: &[String]) {
        if let Some(name) = declared(item) {
            let path = module.iter().cloned().chain([name]).collect();
            self.declared.insert(path);
        }
        match item {
            Item::Fn(item) => self.routines.push(Routine {
                file,
                module: module.to_vec(),
                owner: None,
                signature: item.sig.clone(),
                block: (*item.block).clone(),
            }),
            Item::Impl(item) => methods(item, file, module, self),
            Item::Use(item) => imports(&item.tree, &mut Vec::new(), module, self),
            _ => {}
        }
    }
}

fn methods(item: &ItemImpl, file: usize, module: &[String], around: &mut Surroundings) {
    let Type::Path(ty) = &*item.self_ty else { return };
    let owner: Vec<String> =
        ty.path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    for item in &item.items {
        if let ImplItem::Fn(function) = item {
            around.routines.push(Routine {
                file,
                module: module.to_vec(),
                owner: Some(owner.clone()),
                signature: function.sig.clone(),
                block: function.block.clone(),
            });
        }
    }
}

/// The name of an item in its module.
fn declared(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.unraw().to_string())
}

fn imports(tree: &UseTree, path: &mut Vec<String>, module: &[String], around: &mut Surroundings) {
    let mut add = |name: Option<String>, path: Vec<String>| {
        around.imports.push(Import { module: module.to_vec(), name, path });
    };
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.unraw().to_string());
            imports(&inner.tree, path, module, around);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => add(path.last().cloned(), path.clone()),
        UseTree::Name(name) => {
            let name = name.ident.unraw().to_string();
            let whole = path.iter().cloned().chain([name.clone()]).collect();
            add(Some(name), whole);
        }
        UseTree::Rename(name) => {
            let last = (name.ident != "self").then(|| name.ident.unraw().to_string());
            let whole = path.iter().cloned().chain(last).collect();
            add(Some(name.rename.unraw().to_string()), whole);
        }
        UseTree::Glob(_) => add(None, path.clone()),
        UseTree::Group(group) => {
            for item in &group.items {
                imports(item, path, module, around);
            }
        }
    }
}
