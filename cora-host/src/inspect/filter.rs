//! Which entries are meant: conditions, all of which hold.
//!
//! Keys are of any type, so conditions on addresses look at a key's text: each word that reads as
//! an address, with or without a port, counts.

use std::net::{IpAddr, SocketAddr};

use cora_core::key::Prefix;
use serde::Deserialize;
use serde_json::Value;

use crate::inspect::row::Entry;

/// The conditions, as they are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Filter {
    /// An address of the key lies in this prefix.
    net: Option<String>,
    /// A port of the key.
    port: Option<u16>,
    /// The protocol of the key: `tcp`, `udp`, …
    protocol: Option<String>,
    /// The words of the key, or of the reply's, in any order.
    key: Option<String>,
    /// `nic` or `host`.
    side: Option<String>,
    shard: Option<u16>,
    /// The state's name.
    state: Option<String>,
    /// Unused for longer than this.
    idle_over_ms: Option<u64>,
    /// Used within this time.
    idle_under_ms: Option<u64>,
}

/// The same, read.
#[derive(Debug)]
pub(super) struct Conditions {
    filter: Filter,
    net: Option<Prefix>,
}

impl Filter {
    /// Reads the conditions of a program with these states.
    ///
    /// # Errors
    /// A sentence with a right form.
    pub(super) fn read(&self, states: &[&str]) -> Result<Conditions, String> {
        let net = self.net.as_deref().map(|text| {
            text.parse::<Prefix>().map_err(|_| {
                format!("`net` is a prefix such as 10.0.0.0/8 or 2001:db8::/32, not `{text}`")
            })
        });
        if let Some(side) = self.side.as_deref().filter(|side| !["nic", "host"].contains(side)) {
            return Err(format!("`side` is `nic` or `host`, not `{side}`"));
        }
        if let Some(state) = self.state.as_deref().filter(|state| !states.contains(state)) {
            return Err(format!("no state is called `{state}`: there are {}", states.join(", ")));
        }
        Ok(Conditions { net: net.transpose()?, filter: self.clone() })
    }
}

impl Conditions {
    /// Whether entries of this table may be meant.
    pub(super) fn may_be_in(&self, shard: u16, side: &str, state: &str) -> bool {
        let Filter { side: of, shard: number, state: name, .. } = &self.filter;
        of.as_deref().is_none_or(|of| of == side)
            && number.is_none_or(|number| number == shard)
            && name.as_deref().is_none_or(|name| name == state)
    }

    /// Whether this entry is meant.
    pub(super) fn hold(&self, entry: &Entry) -> bool {
        let idle = entry.idle_ms;
        let Filter { port, protocol, key, idle_over_ms, idle_under_ms, .. } = &self.filter;
        if idle_over_ms.is_some_and(|over| idle <= over)
            || idle_under_ms.is_some_and(|under| idle >= under)
        {
            return false;
        }
        if self.net.is_none() && port.is_none() && protocol.is_none() && key.is_none() {
            return true;
        }
        let (its_key, reply) =
            (words_of(&entry.key), entry.reply.as_ref().map_or_else(Vec::new, words_of));
        let ends = || its_key.iter().chain(&reply).filter_map(|word| end(word));
        self.net.is_none_or(|net| ends().any(|(address, _)| net.contains(address.into())))
            && port.is_none_or(|port| ends().any(|(_, its)| its == Some(port)))
            && protocol.as_ref().is_none_or(|protocol| {
                its_key.first().is_some_and(|word| word.eq_ignore_ascii_case(protocol))
            })
            && key.as_ref().is_none_or(|key| {
                let is_there = |word: &str| {
                    let has = |words: &[String]| words.iter().any(|its| its == word);
                    (has(&its_key), has(&reply))
                };
                let found = key.split_whitespace().filter(|word| *word != ">").map(is_there);
                let (mut in_key, mut in_reply, mut any) = (true, true, false);
                for (key, reply) in found {
                    (in_key, in_reply, any) = (in_key && key, in_reply && reply, true);
                }
                any && (in_key || in_reply)
            })
    }
}

/// All words of a key, in order.
fn words_of(key: &Value) -> Vec<String> {
    match key {
        Value::String(text) => {
            text.split_whitespace().filter(|word| *word != ">").map(str::to_owned).collect()
        }
        Value::Number(number) => vec![number.to_string()],
        Value::Array(items) => items.iter().flat_map(words_of).collect(),
        Value::Object(fields) => fields.values().flat_map(words_of).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// The address of a word, and its port if it has one.
fn end(word: &str) -> Option<(IpAddr, Option<u16>)> {
    if let Ok(end) = word.parse::<SocketAddr>() {
        return Some((end.ip(), Some(end.port())));
    }
    word.parse().ok().map(|address| (address, None))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inspect::row::Reason;

    fn entry(key: Value, reply: Option<Value>) -> Entry {
        Entry {
            shard: 0,
            side: "nic",
            state: "Connection",
            flow: None,
            key,
            reply,
            idle_ms: 2000,
            age_ms: None,
            value: Value::Null,
            stay: Reason::Taken,
            why: String::new(),
        }
    }

    fn holds(filter: Value, entry: &Entry) -> bool {
        let filter: Filter = serde_json::from_value(filter).expect("a filter");
        filter.read(&["Connection"]).expect("conditions").hold(entry)
    }

    #[test]
    fn all_conditions_hold_or_none_is_meant() {
        let row = entry(
            json!("tcp 10.0.0.1:4711 > 192.0.2.7:443"),
            Some(json!("tcp 192.0.2.7:443 > 203.0.113.1:9")),
        );
        for right in [
            json!({}),
            json!({ "net": "10.0.0.0/8" }),
            json!({ "net": "203.0.113.1" }),
            json!({ "port": 443 }),
            json!({ "port": 9, "protocol": "TCP" }),
            json!({ "key": "tcp 10.0.0.1:4711 > 192.0.2.7:443" }),
            json!({ "key": "192.0.2.7:443 203.0.113.1:9" }),
            json!({ "idle_over_ms": 1999, "idle_under_ms": 2001 }),
        ] {
            assert!(holds(right.clone(), &row), "{right}");
        }
        for wrong in [
            json!({ "net": "10.1.0.0/16" }),
            json!({ "port": 444 }),
            json!({ "protocol": "udp" }),
            json!({ "key": "10.0.0.1:4711 203.0.113.1:9" }),
            json!({ "key": "" }),
            json!({ "idle_over_ms": 2000 }),
            json!({ "idle_under_ms": 2000 }),
            json!({ "port": 443, "net": "10.1.0.0/16" }),
        ] {
            assert!(!holds(wrong.clone(), &row), "{wrong}");
        }
    }

    #[test]
    fn keys_of_any_type_are_looked_through() {
        let row = entry(json!({ "group": "2001:db8::1", "key": { "vni": 7 } }), None);
        assert!(holds(json!({ "net": "2001:db8::/32" }), &row));
        assert!(holds(json!({ "key": "7" }), &row));
        assert!(!holds(json!({ "net": "10.0.0.0/8" }), &row));
    }

    #[test]
    fn a_wrong_condition_says_what_would_be_right() {
        for (filter, why) in [
            (json!({ "net": "10.0.0.0/33" }), "a prefix such as 10.0.0.0/8"),
            (json!({ "side": "card" }), "`nic` or `host`"),
            (json!({ "state": "Conection" }), "there are Connection"),
        ] {
            let filter: Filter = serde_json::from_value(filter).expect("a filter");
            let error = filter.read(&["Connection"]).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
        assert!(serde_json::from_value::<Filter>(json!({ "ports": 1 })).is_err());
    }
}
