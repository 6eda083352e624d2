//! Conditional compilation, as far as a build script can evaluate it.
//!
//! Cargo passes features as `CARGO_FEATURE_*` and properties of the target as `CARGO_CFG_*`. Any
//! other condition is undetermined: the item counts as present, and a warning says so.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitBool, LitStr, Token, parenthesized};

use crate::syntax::is_attribute;

/// The known configuration of the build.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// Enabled features, in Cargo's spelling for variables: `CORA_NIC` for `cora-nic`.
    features: BTreeSet<String>,
    /// Facts with their values: `target_os` → `linux`; `unix` has none.
    facts: BTreeMap<String, BTreeSet<String>>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// A build script can't determine it.
    Undetermined,
}

/// The condition in a `#[cfg(…)]`.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `true`, `false`.
    Constant(bool),
    /// `unix`.
    Fact(String),
    /// `target_os = "linux"`.
    Value(String, String),
    /// `all(…)`.
    All(Vec<Self>),
    /// `any(…)`.
    Any(Vec<Self>),
    /// `not(…)`.
    Not(Box<Self>),
}

/// Facts that are never true while the program itself is built.
const NEVER: [&str; 4] = ["test", "doc", "doctest", "proc_macro"];

impl Cfg {
    /// From the environment of a build script.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut cfg = Self::default();
        for (name, value) in variables {
            if let Some(feature) = name.strip_prefix("CARGO_FEATURE_") {
                cfg.features.insert(feature.to_owned());
            } else if let Some(fact) = name.strip_prefix("CARGO_CFG_") {
                let values = value.split(',').filter(|v| !v.is_empty()).map(str::to_owned);
                cfg.facts.entry(fact.to_lowercase()).or_default().extend(values);
            }
        }
        cfg
    }

    /// The configuration of this machine with these features, to read a program without a build.
    pub fn of_this_machine(features: &[&str]) -> Self {
        use std::env::consts::{ARCH, FAMILY, OS};
        let mut cfg = Self::default();
        cfg.features.extend(features.iter().map(|feature| in_variable(feature)));
        for (fact, value) in [("target_os", OS), ("target_arch", ARCH), ("target_family", FAMILY)] {
            cfg.facts.entry(fact.to_owned()).or_default().insert(value.to_owned());
        }
        cfg.facts.entry(FAMILY.to_owned()).or_default();
        cfg
    }

    /// The configuration of the NIC half that belongs to this build.
    #[must_use]
    pub fn of_the_nic(&self) -> Self {
        let mut features = self.features.clone();
        features.insert("NIC".to_owned());
        features.remove("DEFAULT");
        let facts = [("target_os", "none"), ("target_arch", "aarch64")];
        let facts = facts.map(|(fact, value)| (fact.to_owned(), [value.to_owned()].into()));
        Self { features, facts: facts.into() }
    }

    /// The configuration of a library in the same build, with its own features.
    #[must_use]
    pub fn with_features(&self, features: &BTreeSet<String>) -> Self {
        let features = features.iter().map(|feature| in_variable(feature)).collect();
        Self { features, facts: self.facts.clone() }
    }

    /// Whether a feature of the package is enabled.
    pub fn has_feature(&self, name: &str) -> bool {
        self.features.contains(&in_variable(name))
    }

    /// Enabled features that both halves share, for the plan's hash.
    pub fn shared_features(&self) -> impl Iterator<Item = &str> {
        // The NIC half is built with `nic` and may be built without `default`.
        self.features.iter().map(String::as_str).filter(|f| !matches!(*f, "NIC" | "DEFAULT"))
    }

    /// Whether a condition holds.
    pub fn holds(&self, condition: &Condition) -> Truth {
        match condition {
            Condition::Constant(holds) => known(*holds),
            Condition::Value(key, value) if key == "feature" => known(self.has_feature(value)),
            Condition::Value(key, value) => match self.facts.get(key) {
                Some(values) => known(values.contains(value)),
                None if is_of_target(key) => Truth::False,
                None => Truth::Undetermined,
            },
            Condition::Fact(fact) => {
                if self.facts.contains_key(fact) {
                    Truth::True
                } else if is_of_target(fact) || NEVER.contains(&fact.as_str()) {
                    Truth::False
                } else {
                    Truth::Undetermined
                }
            }
            Condition::Not(inner) => match self.holds(inner) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Undetermined => Truth::Undetermined,
            },
            Condition::All(list) => self.fold(list, Truth::False),
            Condition::Any(list) => self.fold(list, Truth::True),
        }
    }

    /// `all` is false if any condition is, and `any` is true if any is. Otherwise the result is
    /// undetermined if any condition is.
    fn fold(&self, list: &[Condition], end: Truth) -> Truth {
        let truths: Vec<Truth> = list.iter().map(|condition| self.holds(condition)).collect();
        if truths.contains(&end) {
            end
        } else if truths.contains(&Truth::Undetermined) {
            Truth::Undetermined
        } else {
            known(end == Truth::False)
        }
    }
}

fn known(holds: bool) -> Truth {
    if holds { Truth::True } else { Truth::False }
}

/// A feature's name in Cargo's spelling for variables.
fn in_variable(feature: &str) -> String {
    feature.to_uppercase().replace('-', "_")
}

/// Facts of the target, which Cargo passes completely.
fn is_of_target(name: &str) -> bool {
    name.starts_with("target_") || matches!(name, "unix" | "windows" | "panic")
}

impl Condition {
    /// The condition of a `#[cfg(…)]`, or of `#[host_only]`; `None` for another attribute, or for
    /// one that rustc will refuse.
    pub fn of(attribute: &Attribute) -> Option<Self> {
        if is_attribute(attribute, "host_only") {
            let none = Self::Value("target_os".to_owned(), "none".to_owned());
            return Some(Self::Not(Box::new(none)));
        }
        if !attribute.path().is_ident("cfg") {
            return None;
        }
        attribute.parse_args().ok()
    }

    /// The part that differs between NIC and host, as written.
    pub fn side(&self) -> Option<String> {
        match self {
            Self::Constant(_) => None,
            Self::Fact(fact) => is_of_target(fact).then(|| fact.clone()),
            Self::Value(key, value) => (is_of_target(key) || (key == "feature" && value == "nic"))
                .then(|| format!("{key} = \"{value}\"")),
            Self::All(list) | Self::Any(list) => list.iter().find_map(Self::side),
            Self::Not(inner) => inner.side(),
        }
    }
}

/// The condition and the attributes of a `#[cfg_attr(…)]`.
pub fn conditional(attribute: &Attribute) -> Option<(Condition, Vec<TokenStream>)> {
    if !attribute.path().is_ident("cfg_attr") {
        return None;
    }
    let tokens = attribute.meta.require_list().ok()?.tokens.clone();
    let parser = |input: ParseStream<'_>| {
        let condition = input.parse()?;
        let _comma: Option<Token![,]> = input.parse()?;
        let metas = Punctuated::<syn::Meta, Token![,]>::parse_terminated(input)?;
        Ok((condition, metas.into_iter().map(syn::Meta::into_token_stream).collect()))
    };
    parser.parse2(tokens).ok()
}

impl Parse for Condition {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitBool) {
            return Ok(Self::Constant(input.parse::<LitBool>()?.value));
        }
        let name = input.call(<Ident as syn::ext::IdentExt>::parse_any)?.to_string();
        if input.peek(Token![=]) {
            let _equals: Token![=] = input.parse()?;
            return Ok(Self::Value(name, input.parse::<LitStr>()?.value()));
        }
        if !input.peek(syn::token::Paren) {
            return Ok(Self::Fact(name));
        }
        let inner;
        parenthesized!(inner in input);
        let list = Punctuated::<Self, Token![,]>::parse_terminated(&inner)?;
        let mut list: Vec<Self> = list.into_iter().collect();
        match (name.as_str(), list.len()) {
            ("all", _) => Ok(Self::All(list)),
            ("any", _) => Ok(Self::Any(list)),
            ("not", 1) => Ok(Self::Not(Box::new(list.remove(0)))),
            _ => Err(input.error("expected `all`, `any` or `not`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cfg() -> Cfg {
        let variables = [
            ("CARGO_FEATURE_DEEP_CHECK", "1"),
            ("CARGO_FEATURE_NIC", "1"),
            ("CARGO_CFG_TARGET_OS", "linux"),
            ("CARGO_CFG_TARGET_FEATURE", "fxsr,sse"),
            ("CARGO_CFG_UNIX", ""),
        ];
        Cfg::from_environment(variables.map(|(k, v)| (k.to_owned(), v.to_owned())))
    }

    fn holds(condition: &str) -> Truth {
        cfg().holds(&syn::parse_str(condition).unwrap())
    }

    #[test]
    fn what_cargo_tells_is_known() {
        for (condition, truth) in [
            ("feature = \"deep-check\"", Truth::True),
            ("feature = \"other\"", Truth::False),
            ("target_feature = \"sse\"", Truth::True),
            ("target_os = \"none\"", Truth::False),
            ("target_thread_local", Truth::False),
            ("unix", Truth::True),
            ("windows", Truth::False),
            ("test", Truth::False),
            ("true", Truth::True),
            ("experiment", Truth::Undetermined),
            ("debug_assertions", Truth::Undetermined),
        ] {
            assert_eq!(holds(condition), truth, "{condition}");
        }
    }

    #[test]
    fn what_is_undetermined_spoils_only_what_hangs_on_it() {
        for (condition, truth) in [
            ("all(unix, not(windows))", Truth::True),
            ("all(windows, experiment)", Truth::False),
            ("all(unix, experiment)", Truth::Undetermined),
            ("any(unix, experiment)", Truth::True),
            ("any(windows, experiment)", Truth::Undetermined),
            ("not(experiment)", Truth::Undetermined),
            ("all()", Truth::True),
            ("any()", Truth::False),
        ] {
            assert_eq!(holds(condition), truth, "{condition}");
        }
    }

    #[test]
    fn conditions_on_the_side_are_noticed_at_any_depth() {
        let side = |condition: &str| syn::parse_str::<Condition>(condition).unwrap().side();
        assert_eq!(
            side("all(feature = \"a\", not(target_os = \"none\"))").unwrap(),
            "target_os = \"none\""
        );
        assert_eq!(side("feature = \"nic\"").unwrap(), "feature = \"nic\"");
        assert_eq!(side("any(unix, experiment)").unwrap(), "unix");
        assert_eq!(side("all(feature = \"a\", experiment)"), None);
    }

    #[test]
    fn the_nic_is_another_machine() {
        let nic = cfg().of_the_nic();
        for (condition, truth) in [
            ("target_os = \"none\"", Truth::True),
            ("not(target_os = \"none\")", Truth::False),
            ("unix", Truth::False),
            ("all(feature = \"nic\", feature = \"deep-check\")", Truth::True),
            ("target_arch = \"x86_64\"", Truth::False),
            ("test", Truth::False),
            ("experiment", Truth::Undetermined),
        ] {
            assert_eq!(nic.holds(&syn::parse_str(condition).unwrap()), truth, "{condition}");
        }
        let marked: syn::Item = syn::parse_quote!(
            #[cora::host_only]
            fn f() {}
        );
        let syn::Item::Fn(marked) = marked else { panic!("a function") };
        let condition = Condition::of(&marked.attrs[0]).unwrap();
        assert_eq!((nic.holds(&condition), cfg().holds(&condition)), (Truth::False, Truth::True));
    }

    #[test]
    fn the_hash_sees_the_features_that_both_halves_share() {
        assert_eq!(cfg().shared_features().collect::<Vec<_>>(), ["DEEP_CHECK"]);
    }

    #[test]
    fn cfg_attr_is_taken_apart() {
        let attribute: Attribute = syn::parse_quote!(#[cfg_attr(unix, path = "a.rs", inline)]);
        let (condition, attributes) = conditional(&attribute).unwrap();
        assert_eq!(cfg().holds(&condition), Truth::True);
        assert_eq!(attributes.len(), 2);
    }
}
