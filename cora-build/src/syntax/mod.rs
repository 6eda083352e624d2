//! An annotated item, as a value.
//!
//! `parse_state` and `parse_handler` read the item's shape, and [`crate::check`] then holds what
//! they found against the rules. What comes back is right as far as one item can tell; whether the
//! items of a program fit together, only a build script sees.

pub(crate) mod arguments;
pub mod depth;
pub(crate) mod handler;
pub(crate) mod state;

use proc_macro2::{Ident, TokenStream};

use crate::check;
use crate::check::fields::last_segment;
use crate::check::parameter::HEADERS;
use crate::diag::Diagnostics;

/// Who is reading.
///
/// The two see different items: a macro gets its item without the attribute that called it, a build
/// script gets it as the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// An attribute macro, in the compiler.
    Macro,
    /// A build script, before the compiler runs.
    BuildScript,
}

/// A type with `#[state(…)]`.
#[derive(Clone, Debug)]
pub struct StateDecl {
    /// Its name, which is that of the type.
    pub name: String,
    /// The same, with its place in the source.
    pub ident: Ident,
    /// What kind of state it is.
    pub kind: StateKind,
    /// The item, without `#[state]`.
    pub item: syn::ItemStruct,
}

/// How a state is declared, which decides who may hold it.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a program has a handful of states")]
pub enum StateKind {
    /// `#[state(key = …)]`: one entry per key.
    Keyed(KeyedArgs),
    /// `#[state(singleton)]`: one value.
    Singleton {
        /// Whether a copy of it outlives the host half.
        durable: bool,
    },
    /// `#[state(commutative)]`: a replica on each side.
    Commutative,
    /// `#[state(read_mostly)]`: replaced in whole versions by the control plane.
    ReadMostly,
}

/// What `#[state(key = …)]` says.
#[derive(Clone, Debug)]
pub struct KeyedArgs {
    /// The key's type, as written.
    pub key: syn::Type,
    /// Its last path segment.
    pub key_name: String,
    /// Whether entries are also found by the key of the reply direction.
    pub reply: bool,
    /// Whether copies of its entries outlive the side that owns them.
    pub durable: bool,
    /// Whether its entries become records when they end.
    pub recorded: bool,
    /// Most entries at a time.
    pub capacity: u32,
    /// How long an entry lives unused, in nanoseconds; at most, where it says so itself.
    pub idle_ns: u64,
    /// What says of an entry how long it lives unused: `fn(&State) -> Duration`.
    pub idle_by: Option<syn::Path>,
    /// The function that says of an entry whether it stays where a full table needs room:
    /// `fn(&State) -> bool`.
    pub assured_by: Option<syn::Path>,
    /// The type that entries were in the build before, and are made of.
    pub from: Option<syn::Type>,
}

/// A function with `#[flow_handler]`.
#[derive(Clone, Debug)]
pub struct HandlerDecl {
    /// Its name, which is that of the function.
    pub name: String,
    /// The same, with its place in the source.
    pub ident: Ident,
    /// What the first parameter, the packet, is called.
    pub packet: Ident,
    /// The states it takes, in order.
    pub parameters: Vec<Parameter>,
    /// Whether it lets everything pass that it does not understand.
    pub transparent: bool,
    /// The item, without `#[flow_handler]`.
    pub item: syn::ItemFn,
}

impl HandlerDecl {
    /// Whether it takes the packet's headers alone, by the name of its first parameter's type: a
    /// type of this name that is another one doesn't compile.
    pub fn takes_headers(&self) -> bool {
        let Some(syn::FnArg::Typed(first)) = self.item.sig.inputs.first() else { return false };
        let syn::Type::Reference(reference) = &*first.ty else { return false };
        last_segment(&reference.elem).is_some_and(|name| name == HEADERS)
    }
}

/// A state that a handler takes.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// What the handler calls it.
    pub ident: Ident,
    /// How it is borrowed.
    pub access: ParameterAccess,
    /// The state's name: the last path segment of its type.
    pub state: String,
    /// What the reference refers to: `Table<S>`, or `S` itself.
    pub referent: syn::Type,
}

/// How a handler borrows a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterAccess {
    /// `&mut Table<S>`, or `&Table<S>`.
    Table {
        /// Whether entries can be changed.
        mutable: bool,
    },
    /// `&mut S`.
    Unique,
    /// `&S`.
    Shared,
}

/// Reads a type with `#[state(args)]`; `None` after a fault, which is in `diagnostics` then.
pub fn parse_state(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<StateDecl> {
    let shape = state::run(args, item, reader, diagnostics)?;
    check::state::run(shape, diagnostics)
}

/// Reads a function with `#[flow_handler(args)]`; `None` after a fault, which is in `diagnostics`
/// then.
#[expect(
    clippy::needless_pass_by_value,
    reason = "takes the tokens of a macro, as `parse_state` does"
)]
pub fn parse_handler(
    args: TokenStream,
    item: TokenStream,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<HandlerDecl> {
    let shape = handler::run(&args, item, reader, diagnostics)?;
    check::handler::run(shape, diagnostics)
}

/// Whether the attribute is Cora's attribute of this name, under whatever path it was brought in.
pub fn is_attribute(attribute: &syn::Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}
