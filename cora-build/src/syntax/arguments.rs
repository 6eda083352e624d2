//! The arguments of `#[state(…)]`, as written: names, some with values.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use strsim::osa_distance;
use syn::Token;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};

use crate::diag::{Diagnostics, Place, codes};

/// One argument.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// Its name, one of [`NAMES`].
    pub(crate) name: Name,
    /// The name's place.
    pub(crate) ident: Ident,
    /// The value after the `=`, if there is one.
    pub(crate) value: Option<TokenStream>,
}

impl Argument {
    /// The value's place, or the name's if there is no value.
    pub(crate) fn place(&self) -> Place {
        match &self.value {
            Some(value) if !value.is_empty() => Place::of(value),
            _ => self.ident.span().into(),
        }
    }
}

/// The name of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// `key = Type`
    Key,
    /// `within = Type`
    Within,
    /// `reply`
    Reply,
    /// `capacity = number`
    Capacity,
    /// `idle = "duration"`
    Idle,
    /// `life = "duration"`
    Life,
    /// `idle_by = path of a function`
    IdleBy,
    /// `assured_by = path of a function`
    AssuredBy,
    /// `durable`
    Durable,
    /// `recorded`
    Recorded,
    /// `on_expire`
    OnExpire,
    /// `from = Type`
    From,
    /// `bucket = InsidePort`, or `OutsidePort`
    Bucket,
    /// `singleton`
    Singleton,
    /// `per = Bucket`
    Per,
    /// `commutative`
    Commutative,
    /// `merged`
    Merged,
    /// `read_mostly`
    ReadMostly,
    /// `services = path of a function`
    Services,
    /// `map`
    Map,
    /// `prefixes`
    Prefixes,
    /// `acl`
    Acl,
    /// `objects`
    Objects,
    /// `bytes = "size"`
    Bytes,
    /// `region`
    Region,
    /// `length = number`
    Length,
}

/// Every argument with its spelling and its common aliases.
const NAMES: [(Name, &str, &[&str]); 26] = [
    (Name::Key, "key", &["keyed", "by", "flow"]),
    (Name::Within, "within", &["group", "group_by", "grouped_by", "scope", "namespace", "under"]),
    (Name::Reply, "reply", &["reverse", "bidirectional", "both"]),
    (Name::Capacity, "capacity", &["size", "max", "limit", "entries", "max_entries", "cap"]),
    (Name::Idle, "idle", &["timeout", "idle_timeout", "expiry", "expires"]),
    (Name::Life, "life", &["ttl", "lifetime", "lives", "max_age", "age", "valid_for"]),
    (Name::IdleBy, "idle_by", &["timeout_by", "idle_fn", "idle_of"]),
    (
        Name::AssuredBy,
        "assured_by",
        &["assured", "evict_by", "evict", "evicts", "eviction", "keep_by", "kept_by", "early_drop"],
    ),
    (Name::Durable, "durable", &["persistent", "persist", "backup", "replicate", "survives"]),
    (Name::Recorded, "recorded", &["record", "records", "export", "exported", "ipfix"]),
    (
        Name::OnExpire,
        "on_expire",
        &["on_expiry", "expire", "hook", "on_end", "on_timeout", "callback"],
    ),
    (Name::From, "from", &["before", "was", "old", "convert", "converts"]),
    (Name::Bucket, "bucket", &["buckets", "bucket_by", "steer", "steered_by", "rss"]),
    (Name::Singleton, "singleton", &["single", "global", "one"]),
    (Name::Per, "per", &["per_bucket", "divided", "sharded", "shard", "each"]),
    (Name::Commutative, "commutative", &["replicated", "mergeable", "sum", "counter", "sketch"]),
    (
        Name::Merged,
        "merged",
        &["merge", "merges", "read_merged", "readable", "as_of_merge", "synced"],
    ),
    (Name::ReadMostly, "read_mostly", &["read_only", "readonly", "config"]),
    (Name::Services, "services", &["service", "serves", "forwards", "endpoints"]),
    (Name::Map, "map", &["table", "lookup", "exact", "dictionary", "hash_map"]),
    (Name::Prefixes, "prefixes", &["prefix", "lpm", "routes", "longest", "trie", "fib"]),
    (Name::Acl, "acl", &["rules", "ordered", "filter", "first_match"]),
    (Name::Objects, "objects", &["object", "heap", "dmo", "blobs", "arena", "allocated"]),
    (Name::Bytes, "bytes", &["memory", "byte", "mem", "room", "space"]),
    (Name::Region, "region", &["array", "regions", "items", "numbered", "remote", "rdma"]),
    (Name::Length, "length", &["len", "count", "number", "nodes", "slots"]),
];

impl Name {
    /// Its spelling.
    pub(crate) fn text(self) -> &'static str {
        NAMES.iter().find(|entry| entry.0 == self).map_or("", |entry| entry.1)
    }

    /// Whether it is written `name = value`, and not alone.
    pub(crate) const fn takes_value(self) -> bool {
        matches!(
            self,
            Self::Key
                | Self::Within
                | Self::Capacity
                | Self::Idle
                | Self::Life
                | Self::IdleBy
                | Self::AssuredBy
                | Self::From
                | Self::Bucket
                | Self::Per
                | Self::Services
                | Self::Bytes
                | Self::Length
        )
    }

    fn read(text: &str) -> Option<Self> {
        NAMES.iter().find(|entry| entry.1 == text).map(|entry| entry.0)
    }

    /// The likely correction.
    fn meant(text: &str) -> Option<&'static str> {
        let lower = text.to_lowercase();
        NAMES
            .iter()
            .find(|entry| entry.2.contains(&lower.as_str()))
            .map(|entry| entry.1)
            .or_else(|| nearest(&lower, NAMES.iter().map(|entry| entry.1)))
    }
}

/// Reads the arguments, and continues after a faulty one.
pub(crate) fn run(args: TokenStream, diagnostics: &mut Diagnostics) -> Vec<Argument> {
    let mut found: Vec<Argument> = Vec::new();
    let read = |input: ParseStream<'_>| {
        while !input.is_empty() {
            if let Some(argument) = one(input, diagnostics)? {
                keep(argument, &mut found, diagnostics);
            }
        }
        Ok(())
    };
    if let Err(error) = read.parse2(args) {
        diagnostics.error(codes::ARGUMENT_SYNTAX, error.span(), error.to_string());
    }
    found
}

/// One argument and the comma after it.
fn one(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Option<Argument>> {
    let start = input.fork();
    let argument = if input.peek(Ident::peek_any) {
        let ident: Ident = input.call(Ident::parse_any)?;
        if input.is_empty() || input.peek(Token![,]) {
            Some((ident, None))
        } else if input.parse::<Option<Token![=]>>()?.is_some() {
            let value = value(&ident, input)?;
            Some((ident, Some(value)))
        } else {
            None
        }
    } else {
        None
    };
    let Some((ident, value)) = argument else {
        skip_to_comma(input)?;
        input.parse::<Option<Token![,]>>()?;
        syntax_error(&skip_to_comma(&start)?, diagnostics);
        return Ok(None);
    };
    input.parse::<Option<Token![,]>>()?;
    Ok(known(ident, value, diagnostics))
}

/// The value after `=`, up to the next comma. A type may contain commas.
fn value(name: &Ident, input: ParseStream<'_>) -> syn::Result<TokenStream> {
    if name == "key" || name == "within" || name == "from" {
        let ahead = input.fork();
        if ahead.parse::<syn::Type>().is_ok() && (ahead.is_empty() || ahead.peek(Token![,])) {
            let ty: syn::Type = input.parse()?;
            return Ok(quote::ToTokens::into_token_stream(ty));
        }
    }
    skip_to_comma(input)
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut skipped = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        skipped.extend([input.parse::<TokenTree>()?]);
    }
    Ok(skipped)
}

fn syntax_error(tokens: &TokenStream, diagnostics: &mut Diagnostics) {
    let shown = tokens.to_string();
    let name = shown.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let message = if shown.is_empty() {
        "an argument is missing before this comma".to_owned()
    } else {
        format!("`{shown}` is not written as an argument")
    };
    let found = diagnostics.error(codes::ARGUMENT_SYNTAX, Place::of(tokens), message);
    match Name::read(name) {
        Some(known) if known.takes_value() => {
            found.help(format!("write `{name} = …`"));
        }
        Some(_) => {
            found.help(format!("write `{name}`"));
        }
        None => {
            found.help("arguments are `name` or `name = value`, separated by commas");
        }
    }
}

/// The argument of this name, if there is one.
fn known(
    ident: Ident,
    value: Option<TokenStream>,
    diagnostics: &mut Diagnostics,
) -> Option<Argument> {
    let text = ident.unraw().to_string();
    if let Some(name) = Name::read(&text) {
        return Some(Argument { name, ident, value });
    }
    let found = diagnostics.error(
        codes::ARGUMENT_UNKNOWN,
        ident.span(),
        format!("`#[state]` takes no argument `{text}`"),
    );
    match Name::meant(&text) {
        Some(meant) => found.label("not an argument").help(format!("did you mean `{meant}`?")),
        None => found.help(
            "it takes `key`, `within`, `reply`, `capacity`, `idle`, `life`, `idle_by`, `assured_by`, `durable`, `recorded`, `on_expire`, `from`, `bucket`, \
             `singleton`, `per`, `commutative`, `merged`, `read_mostly`, `map`, `services`, `prefixes` and `acl`",
        ),
    };
    None
}

/// Adds the argument unless one of its name exists.
fn keep(argument: Argument, found: &mut Vec<Argument>, diagnostics: &mut Diagnostics) {
    if found.iter().any(|earlier| earlier.name == argument.name) {
        let name = argument.name.text();
        diagnostics
            .error(codes::ARGUMENT_TWICE, argument.ident.span(), format!("`{name}` is given twice"))
            .help("take one of the two away");
    } else {
        found.push(argument);
    }
}

/// The place of the attribute's arguments, or the macro's call if there are none.
pub(crate) fn place(args: &TokenStream) -> Place {
    if args.is_empty() { Span::call_site().into() } else { Place::of(args) }
}

/// The word nearest to `text`, if it is near enough for a typing error.
pub(crate) fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    words
        .into_iter()
        .map(|word| (osa_distance(text, word), word))
        .filter(|(distance, word)| *distance <= (word.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_word_is_proposed() {
        for (written, meant) in [
            ("capcity", Some("capacity")),
            ("timeout", Some("idle")),
            ("ttl", Some("life")),
            ("readmostly", Some("read_mostly")),
            ("Singleton", Some("singleton")),
            ("keys", Some("key")),
            ("colour", None),
        ] {
            assert_eq!(Name::meant(written), meant, "{written}");
        }
    }

    #[test]
    fn reading_goes_on_behind_a_fault() {
        let mut diagnostics = Diagnostics::new();
        let args = "key: A, reply, 5 = 6, key = Map<A, B>, idle = \"5m\", reply".parse().unwrap();
        let read = run(args, &mut diagnostics);
        let names: Vec<_> = read.iter().map(|argument| argument.name.text()).collect();
        assert_eq!(names, ["reply", "key", "idle"]);
        let found: Vec<_> = diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(found, [codes::ARGUMENT_SYNTAX, codes::ARGUMENT_SYNTAX, codes::ARGUMENT_TWICE]);
    }
}
