//! The names of `std` that `core` lacks, and their substitutes.

use syn::Item;

/// The help for a name of the host.
pub(super) const HOST_ONLY: &str = "call it from other `#[host_only]` code, or take the mark away";

const HEAP: &str = "the NIC has no heap: use arrays, and states for what outlives a packet";
const CLOCK: &str =
    "the only clock is `packet.now()`: another one would give other results under other plans";
const PRINT: &str = "nothing is printed per packet: count in a `#[state(commutative)]`, or drop with a `Reason` of your own";
const SYSTEM: &str = "a handler reaches its packet and its states, and nothing else";
const TABLE: &str = "what is looked up per packet is a `#[state(key = …)]`, and rules are arrays";
const SHARE: &str = "states need no lock: the plan gives each one side at a time";

/// Names that the prelude of `std` adds to that of `core`.
pub(super) const PRELUDE: [(&str, &str); 5] =
    [("Vec", HEAP), ("String", HEAP), ("Box", HEAP), ("ToString", HEAP), ("ToOwned", HEAP)];

const MACROS: [(&str, &str); 9] = [
    ("println", PRINT),
    ("print", PRINT),
    ("eprintln", PRINT),
    ("eprint", PRINT),
    ("dbg", PRINT),
    ("format", HEAP),
    ("vec", HEAP),
    ("thread_local", SHARE),
    ("is_x86_feature_detected", SYSTEM),
];

/// Methods of slices and strings that allocate on the heap.
const METHODS: [&str; 7] =
    ["to_string", "to_owned", "to_vec", "sort", "sort_by", "sort_by_key", "sort_by_cached_key"];

/// Modules of `std` that are also in `core`.
const IN_CORE: [&str; 27] = [
    "any", "array", "ascii", "borrow", "cell", "char", "clone", "cmp", "convert", "default", "fmt",
    "future", "hash", "hint", "iter", "marker", "mem", "num", "ops", "option", "panic", "pin",
    "ptr", "result", "slice", "str", "task",
];

/// Items of modules that are partly in `core`.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "net",
        &[
            "IpAddr",
            "Ipv4Addr",
            "Ipv6Addr",
            "SocketAddr",
            "SocketAddrV4",
            "SocketAddrV6",
            "AddrParseError",
        ],
    ),
    ("time", &["Duration"]),
    ("sync", &["atomic"]),
];

const INTEGERS: [&str; 14] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64",
];

/// A name that the NIC lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The name, as written.
    pub(super) name: String,
    /// Its substitute.
    pub(super) cure: String,
}

impl Found {
    fn new(name: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { name: name.into(), cure: cure.into() }
    }

    pub(super) fn in_prelude(name: &str) -> Option<Self> {
        listed(&PRELUDE, name)
    }

    pub(super) fn in_macros(name: &str) -> Option<Self> {
        listed(&MACROS, name).map(|found| Self { name: format!("{name}!"), ..found })
    }

    pub(super) fn method(name: &str) -> Option<Self> {
        let cure = if name.starts_with("sort") {
            format!("`{}` needs no heap", unstable(name))
        } else {
            HEAP.to_owned()
        };
        METHODS.contains(&name).then(|| Self::new(format!(".{name}()"), cure))
    }

    pub(super) fn host_only(path: &str) -> Self {
        Self::new(path, HOST_ONLY)
    }

    /// A path that begins in `std` or `alloc`.
    pub(super) fn path(words: &[String]) -> Self {
        let name = words.join("::").replace("::*", "");
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let (module, item) = (word(1), word(2));
        let part = PARTS.iter().find(|(part, _)| *part == module);
        let in_core = IN_CORE.contains(&module)
            || INTEGERS.contains(&module)
            || part.is_some_and(|(_, items)| items.contains(&item));
        let cure = match module {
            _ if in_core => format!(
                "`core` has it, too: write `core{}`",
                &name[name.find("::").unwrap_or(name.len())..]
            ),
            "time" => CLOCK.to_owned(),
            "collections" => TABLE.to_owned(),
            "sync" => SHARE.to_owned(),
            "vec" | "string" | "boxed" | "rc" => HEAP.to_owned(),
            "io" => PRINT.to_owned(),
            _ => SYSTEM.to_owned(),
        };
        Self::new(name, cure)
    }

    pub(super) fn message(&self) -> String {
        if self.cure == HOST_ONLY {
            return format!(
                "`{}` is left out at the NIC, and this code is compiled for the NIC, too",
                self.name
            );
        }
        format!("`{}` is of `std`, and this code is compiled for the NIC, too", self.name)
    }
}

fn unstable(name: &str) -> String {
    let by = name.strip_prefix("sort").unwrap_or_default().replace("cached_", "");
    format!("sort_unstable{by}")
}

fn listed(list: &[(&str, &str)], name: &str) -> Option<Found> {
    list.iter().find(|(listed, _)| *listed == name).map(|(name, cure)| Found::new(*name, *cure))
}

/// The context of a found name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// `impl Configure for …`, which only the host calls.
    Configure,
    /// `use`, at the top of a file.
    Use,
    /// A handler.
    Handler,
    /// Anything else.
    Other,
}

pub(super) fn place_of(item: &Item) -> Whereabouts {
    match item {
        Item::Impl(item) => {
            let named = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
            match named {
                Some(name) if name.ident == "Configure" => Whereabouts::Configure,
                _ => Whereabouts::Other,
            }
        }
        Item::Use(_) => Whereabouts::Use,
        Item::Fn(item)
            if item.attrs.iter().any(|it| {
                ["flow_handler", "on_expire", "every"]
                    .iter()
                    .any(|name| crate::syntax::is_attribute(it, name))
            }) =>
        {
            Whereabouts::Handler
        }
        _ => Whereabouts::Other,
    }
}

impl Whereabouts {
    /// The remedy.
    pub(super) fn help(self, found: &Found) -> String {
        let (cure, at_host) = (&found.cure, "code for the host alone stands under `#[host_only]`");
        match self {
            Self::Configure => {
                "only the host calls `configure`: put `#[host_only]` on this `impl`, and on functions and `use` that it alone needs"
                    .to_owned()
            }
            Self::Handler => cure.clone(),
            Self::Use | Self::Other if cure == HOST_ONLY => cure.clone(),
            Self::Use | Self::Other => format!("{cure}; {at_host}, such as `impl Configure` and what it alone calls"),
        }
    }
}
