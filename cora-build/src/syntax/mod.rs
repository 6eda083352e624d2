//! An annotated item, as a value.
//!
//! Its shape is read here, and [`crate::check`] then checks it. The result is valid as far as one
//! item shows. Only a build script can check the consistency of the program's items.
//!
//! | module | contents |
//! | --- | --- |
//! | `state`, `message`, `handler` | the shape of an item |
//! | `arguments` | the arguments of an attribute |
//! | `names` | names of types and attributes |
//! | [`depth`] | how deep source may nest |

pub(crate) mod arguments;
pub mod depth;
pub(crate) mod handler;
pub(crate) mod message;
pub(crate) mod names;
pub(crate) mod state;

use proc_macro2::Ident;

pub use crate::diag::Reader;
pub use names::is_attribute;
use names::{HEADERS, last_segment};

/// A type with `#[state(…)]`.
#[derive(Clone, Debug)]
pub struct StateDecl {
    /// Its name: the type's.
    pub name: String,
    /// The same, with its place in the source.
    pub ident: Ident,
    /// Its kind.
    pub kind: StateKind,
    /// The item, without `#[state]`.
    pub item: syn::ItemStruct,
}

/// Declared kind of a state, which determines its possible holders.
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
    /// `#[state(per = Bucket)]`: a value per bucket.
    PerBucket {
        /// Whether copies of them outlive the host half.
        durable: bool,
    },
    /// `#[state(commutative)]`: a replica on each side.
    Commutative {
        /// Whether handlers read it as of the last merge.
        merged: bool,
    },
    /// `#[state(read_mostly)]`: replaced in whole versions by the control plane.
    ReadMostly,
    /// `#[state(map | prefixes | acl, …)]`: rows of a file, replaced like that.
    Rows(RowsArgs),
    /// `#[state(objects, …)]`: things of variable length, by ids.
    Objects(ObjectsArgs),
    /// `#[state(region, length = …)]`: items by number, at one side for good.
    Region {
        /// Number of items.
        length: Capacity,
    },
}

/// The arguments of objects.
#[derive(Clone, Debug)]
pub struct ObjectsArgs {
    /// Bytes of memory for them.
    pub bytes: u64,
    /// Maximum number of flows with objects.
    pub capacity: Capacity,
    /// How long a flow's objects stay unused, in nanoseconds; [`NEVER`] if for good.
    pub idle_ns: u64,
}

/// The arguments of a configured table.
#[derive(Clone, Debug)]
pub struct RowsArgs {
    /// How its rows are found.
    pub form: RowForm,
    /// The type of a map's key as written, and its last path segment.
    pub key: Option<(syn::Type, String)>,
    /// The function for the ends of the service that a map's row is: `fn(&Key, &Row) ->
    /// [Endpoint; 2]`.
    pub services: Option<syn::Path>,
    /// Maximum number of rows.
    pub capacity: Capacity,
}

/// How the rows of a configured table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// By key.
    Map,
    /// By longest prefix.
    Prefixes,
    /// The first that fits.
    Acl,
}

impl RowForm {
    /// The type that a handler takes: `Map<S>`.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Map => "Map",
            Self::Prefixes => "Prefixes",
            Self::Acl => "Acl",
        }
    }

    /// The argument of `#[state]`.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Prefixes => "prefixes",
            Self::Acl => "acl",
        }
    }

    /// The form of this table type.
    pub(crate) fn of(table: &str) -> Option<Self> {
        [Self::Map, Self::Prefixes, Self::Acl].into_iter().find(|form| form.table() == table)
    }
}

/// The end of a flow whose port decides the bucket of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketEnd {
    /// The inside end.
    Inside,
    /// The outside end.
    Outside,
}

impl BucketEnd {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Inside, Self::Outside];

    /// The word in the argument.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inside => "InsidePort",
            Self::Outside => "OutsidePort",
        }
    }
}

/// A maximum number of entries or rows.
#[derive(Clone, Debug)]
pub struct Capacity {
    /// The number.
    pub number: u32,
    /// The same as written, if it names constants. Then only a build script knows the number, and
    /// until it has evaluated this, `number` is 1.
    pub named: Option<syn::Expr>,
}

/// In place of a time-out in nanoseconds: there is none.
pub const NEVER: u64 = u64::MAX;

/// The arguments of `#[state(key = …)]`.
#[derive(Clone, Debug)]
pub struct KeyedArgs {
    /// The key's type, as written.
    pub key: syn::Type,
    /// Its last path segment.
    pub key_name: String,
    /// The type of the group that its keys are within, as written, and its last path segment.
    pub within: Option<(syn::Type, String)>,
    /// Whether entries are also found by the key of the reply direction.
    pub reply: bool,
    /// Whether copies of its entries outlive the side that owns them.
    pub durable: bool,
    /// Whether its entries become records when they expire or are removed.
    pub recorded: bool,
    /// Whether a hook runs when an entry expires.
    pub on_expire: bool,
    /// Maximum number of entries.
    pub capacity: Capacity,
    /// Idle time-out of an entry, in nanoseconds; a maximum if the entry has its own. [`NEVER`] if
    /// it has none.
    pub idle_ns: u64,
    /// Time from an entry's insertion to its end, in nanoseconds.
    pub life_ns: Option<u64>,
    /// The function for an entry's own idle time-out: `fn(&State) -> Duration`.
    pub idle_by: Option<syn::Path>,
    /// The function that says whether an entry stays when a full table evicts: `fn(&State) ->
    /// bool`.
    pub assured_by: Option<syn::Path>,
    /// The type of entries in the previous build, which they are converted from.
    pub from: Option<syn::Type>,
    /// The end whose port decides the bucket of its packets, and its place.
    pub bucket: Option<(BucketEnd, Ident)>,
}

/// A type with `#[message(…)]`.
#[derive(Clone, Debug)]
pub struct MessageDecl {
    /// Its name: the type's.
    pub name: String,
    /// The same, with its place in the source.
    pub ident: Ident,
    /// Its wire form, if it comes or leaves in datagrams.
    pub wire: Option<WireForm>,
    /// Its key.
    pub key: MessageKey,
    /// The item, without `#[message]` and `#[key]`.
    pub item: syn::DeriveInput,
}

/// How a message stands in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireForm {
    /// The program reads and writes it itself.
    pub parse: bool,
    /// The port that its datagrams are for; any port without one.
    pub port: Option<u16>,
}

/// The key of a message.
#[derive(Clone, Debug)]
pub enum MessageKey {
    /// Each message is a flow of its own.
    None,
    /// All messages of the type are one flow.
    One,
    /// The field with `#[key]`: one, or one of each variant, all of one type.
    Fields(Vec<KeyField>),
}

impl MessageKey {
    /// The last path segment of its type.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::One => Some("One"),
            Self::Fields(fields) => fields.first().map(|field| field.name.as_str()),
        }
    }
}

/// The field that is the key of a message.
#[derive(Clone, Debug)]
pub struct KeyField {
    /// Its name or number.
    pub member: syn::Member,
    /// Its type, as written.
    pub ty: syn::Type,
    /// The last path segment of that.
    pub name: String,
}

/// The mark of a function that the runtime calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `#[flow_handler]`: it runs once per packet, or per message.
    Handler,
    /// `#[on_expire]`: it runs when an entry expires.
    Hook,
    /// `#[every]`: it runs at intervals.
    Timer,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Handler, Self::Hook, Self::Timer];

    /// The attribute's name.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Handler => "flow_handler",
            Self::Hook => "on_expire",
            Self::Timer => "every",
        }
    }

    /// What the function is.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Hook => "hook",
            Self::Timer => "timer",
        }
    }

    /// How it begins.
    pub const fn signature(self) -> &'static str {
        match self {
            Self::Handler => "fn name(packet: &mut Packet, …) -> Verdict { … }",
            Self::Hook => "fn name(ended: &Ended<S>, …) { … }",
            Self::Timer => "fn name(tick: &Tick, …) { … }",
        }
    }
}

/// A function with `#[flow_handler]`, `#[on_expire]` or `#[every]`.
#[derive(Clone, Debug)]
pub struct HandlerDecl {
    /// Its name: the function's.
    pub name: String,
    /// The same, with its place in the source.
    pub ident: Ident,
    /// The name of the first parameter: the packet, the message, a hook's ended entry, or a timer's
    /// tick.
    pub packet: Ident,
    /// When it runs.
    pub occasion: Occasion,
    /// The states it takes, in order.
    pub parameters: Vec<Parameter>,
    /// What else it takes, in order.
    pub others: Vec<Other>,
    /// Whether it passes everything that it does not understand.
    pub transparent: bool,
    /// Whether it runs at the host alone, and may use `std`.
    pub at_host: bool,
    /// The item, without `#[flow_handler]`.
    pub item: syn::ItemFn,
}

/// When a function runs.
#[derive(Clone, Debug)]
pub enum Occasion {
    /// Once per packet.
    Packet,
    /// Once per message of this type.
    Message(Box<Takes>),
    /// When an entry of this state expires.
    Expiry(Box<Expires>),
    /// At intervals.
    Tick {
        /// Nanoseconds of packet time.
        period: u64,
    },
}

/// A type of message, as a handler names it.
#[derive(Clone, Debug)]
pub struct Takes {
    /// The message's name: the last path segment of its type.
    pub name: String,
    /// Its type.
    pub ty: syn::Type,
    /// Whether the handler takes it by reference.
    pub shared: bool,
}

/// A parameter of a handler behind its first one that is no state.
#[derive(Clone, Debug)]
pub struct Other {
    /// Its place among all parameters behind the first one.
    pub at: usize,
    /// The handler's name for it.
    pub ident: Ident,
    /// What it is.
    pub kind: OtherKind,
}

/// What a parameter of a handler is, if it is no state.
#[derive(Clone, Debug)]
pub enum OtherKind {
    /// `&mut Outbox`: the outbox for packets.
    Packets,
    /// `&mut Outbox<M>`: the outbox for messages of this type.
    Messages(Box<Takes>),
    /// `&Envelope`: what accompanies the message.
    Envelope,
}

/// The state of a hook: `S` in its first parameter `&Ended<S>`.
#[derive(Clone, Debug)]
pub struct Expires {
    /// The state's name: the last path segment of its type.
    pub state: String,
    /// Its type.
    pub referent: syn::Type,
}

impl HandlerDecl {
    /// Its mark.
    pub const fn mark(&self) -> Mark {
        match self.occasion {
            Occasion::Packet | Occasion::Message(_) => Mark::Handler,
            Occasion::Expiry(_) => Mark::Hook,
            Occasion::Tick { .. } => Mark::Timer,
        }
    }

    /// Of a message's handler, the message that it takes.
    pub fn takes(&self) -> Option<&Takes> {
        match &self.occasion {
            Occasion::Message(takes) => Some(takes),
            _ => None,
        }
    }

    /// The messages that it may send, by the types of its outboxes.
    pub fn sends(&self) -> impl Iterator<Item = &Takes> {
        self.others.iter().filter_map(|other| match &other.kind {
            OtherKind::Messages(message) => Some(&**message),
            _ => None,
        })
    }

    /// Its names for the outboxes for messages, in the order of [`Self::sends`].
    pub fn message_outboxes(&self) -> impl Iterator<Item = &Ident> {
        let is_one = |other: &&Other| matches!(other.kind, OtherKind::Messages(_));
        self.others.iter().filter(is_one).map(|other| &other.ident)
    }

    /// Whether it has an outbox for packets.
    pub fn sends_packets(&self) -> bool {
        self.others.iter().any(|other| matches!(other.kind, OtherKind::Packets))
    }

    /// Of a hook, the state whose entries it is about.
    pub fn expires(&self) -> Option<&Expires> {
        match &self.occasion {
            Occasion::Expiry(expires) => Some(expires),
            _ => None,
        }
    }

    /// Whether it takes only the packet's headers, judged by the name of its first parameter's
    /// type. Another type of this name does not compile.
    pub fn takes_headers(&self) -> bool {
        let Some(syn::FnArg::Typed(first)) = self.item.sig.inputs.first() else { return false };
        let syn::Type::Reference(reference) = &*first.ty else { return false };
        last_segment(&reference.elem).is_some_and(|name| name == HEADERS)
    }
}

/// A state that a handler takes.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The handler's name for it.
    pub ident: Ident,
    /// Its borrow.
    pub access: ParameterAccess,
    /// The state's name: the last path segment of its type.
    pub state: String,
    /// The referent of the reference: `Table<S>`, or `S` itself.
    pub referent: syn::Type,
}

/// A handler's borrow of a state.
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
    /// `&mut Merged<S>`, or `&Merged<S>`.
    Merged {
        /// Whether it can be updated.
        mutable: bool,
    },
    /// `&Map<S>`, `&Prefixes<S>`, `&Acl<S>`.
    Rows(RowForm),
    /// `&mut Objects<S>`, or `&Objects<S>`.
    Objects {
        /// Whether objects can be changed.
        mutable: bool,
    },
    /// `&mut Region<S>`, or `&Region<S>`.
    Region {
        /// Whether items can be written.
        mutable: bool,
    },
}
