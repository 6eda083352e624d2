//! Reads NIC profiles. `nics/README.md` describes the file; the `KEYS` below are all valid keys.

use super::{Cache, FlowTable, Link, NicProfile, Port, ProfileError, Rule, Tier};
use crate::figure::{Figure, Source};
use crate::toml::{Entry, Range, Reader, Table};

const KEYS: &[&str] = &["name", "title", "nic", "host", "port", "link", "flow_table"];
const TIER_KEYS: &[&str] = &[
    "core",
    "cores",
    "busy",
    "instruction_ns",
    "mispredict_ns",
    "packet_ns",
    "byte_ns",
    "cache",
    "memory_ns",
    "exposed",
    "insert_ns",
    "remove_ns",
    "state_bytes",
];
const CACHE_KEYS: &[&str] = &["bytes", "latency_ns", "shared_by"];
const LINK_KEYS: &[&str] = &[
    "nic_ns",
    "host_ns",
    "byte_ns",
    "owner_ns",
    "owner_exposed",
    "mpps",
    "gbps",
    "nic_move_ns",
    "host_move_ns",
    "fetch_ns",
];
const PORT_KEYS: &[&str] = &["gbps", "mpps", "pcie_gbps", "host_ns"];
const FLOW_TABLE_KEYS: &[&str] = &["entries", "inserts_per_s", "expresses"];
const FIGURE_KEYS: &[&str] = &["value", "published", "measured", "derived", "assumed"];

const FIGURE: &str = "as in `{ value = 1.5, measured = \"how\" }`";
/// At least one of something shareable: half a core is not a core.
const ONE_OR_MORE: Range =
    Range { wanted: "a number that is 1 or more", least: 1.0, above: false, most: f64::MAX };

type Reading<'a> = Reader<'a, ProfileError>;

impl NicProfile {
    /// Reads a profile.
    ///
    /// # Errors
    /// All its faults, by line.
    pub fn parse(text: &str) -> Result<Self, Vec<ProfileError>> {
        Reader::read(text, "the NIC profile", "begins with `name = \"…\"`", profile)
    }
}

fn profile(reader: &mut Reading<'_>, table: &Table<'_>) -> Option<NicProfile> {
    reader.only(table, KEYS);
    let name = string(reader, table, "name", "its name");
    let title = string(reader, table, "title", "a title of one line");
    let nic = tier(reader, table, "nic", "`[nic]`");
    let host = tier(reader, table, "host", "`[host]`");
    let link = link(reader, table);
    let port = table.get("port").map(|entry| port(reader, entry));
    let flow_table = table.get("flow_table").map(|entry| flow_table(reader, entry));
    let (name, title, link) = (name?, title?, link?);
    let port = match port {
        None => None,
        Some(read) => Some(read?),
    };
    let flow_table = match flow_table {
        None => None,
        Some(read) => Some(read?),
    };
    Some(NicProfile { name, title, nic: nic?, host: host?, port, link, flow_table })
}

fn string(
    reader: &mut Reading<'_>,
    table: &Table<'_>,
    key: &str,
    wanted: &'static str,
) -> Option<String> {
    let entry = reader.need(table, key, wanted)?;
    reader.string(entry).map(str::to_owned)
}

fn tier(reader: &mut Reading<'_>, table: &Table<'_>, key: &str, name: &str) -> Option<Tier> {
    let entry = reader.need(table, key, "a table of its cores' costs")?;
    let table = &reader.table(entry, name)?;
    reader.only(table, TIER_KEYS);
    let core = string(reader, table, "core", "the kind of its cores");
    let cores = figure(reader, table, "cores", ONE_OR_MORE);
    let busy = figure(reader, table, "busy", Range::POSITIVE_SHARE);
    let instruction_ns = figure(reader, table, "instruction_ns", Range::POSITIVE);
    let mispredict_ns = figure(reader, table, "mispredict_ns", Range::NOT_NEGATIVE);
    let packet_ns = figure(reader, table, "packet_ns", Range::NOT_NEGATIVE);
    let byte_ns = figure(reader, table, "byte_ns", Range::NOT_NEGATIVE);
    let memory_ns = figure(reader, table, "memory_ns", Range::POSITIVE);
    let exposed = figure(reader, table, "exposed", Range::SHARE);
    let insert_ns = figure(reader, table, "insert_ns", Range::NOT_NEGATIVE);
    let remove_ns = figure(reader, table, "remove_ns", Range::NOT_NEGATIVE);
    let state_bytes = figure(reader, table, "state_bytes", Range::POSITIVE);
    let caches = caches(reader, table, memory_ns.as_ref());
    Some(Tier {
        core: core?,
        cores: cores?,
        busy: busy?,
        instruction_ns: instruction_ns?,
        mispredict_ns: mispredict_ns?,
        packet_ns: packet_ns?,
        byte_ns: byte_ns?,
        caches: caches?,
        memory_ns: memory_ns?,
        exposed: exposed?,
        insert_ns: insert_ns?,
        remove_ns: remove_ns?,
        state_bytes: state_bytes?,
    })
}

fn caches(
    reader: &mut Reading<'_>,
    tier: &Table<'_>,
    memory_ns: Option<&Figure>,
) -> Option<Vec<Cache>> {
    let Some(entry) = tier.get("cache") else {
        let (tier, line) = (tier.name.clone(), tier.line);
        reader.refuse(line, ProfileError::NoCache { tier, line });
        return None;
    };
    let items = reader.list(entry)?;
    if items.is_empty() {
        let (tier, line) = (tier.name.clone(), entry.line);
        reader.refuse(line, ProfileError::NoCache { tier, line });
    }
    let inner = format!("`[[{}.cache]]`", tier.name.trim_matches(['`', '[', ']']));
    let read: Vec<_> = items.into_iter().map(|item| (item, cache(reader, item, &inner))).collect();
    for pair in read.windows(2) {
        let ((_, Some(before)), (item, Some(behind))) = (&pair[0], &pair[1]) else { continue };
        above(reader, item.line, "bytes", &behind.bytes, &before.bytes);
        above(reader, item.line, "latency_ns", &behind.latency_ns, &before.latency_ns);
    }
    let line = tier.get("memory_ns").map_or(tier.line, |entry| entry.line);
    if let (Some((_, Some(last))), Some(memory)) = (read.last(), memory_ns) {
        above(reader, line, "memory_ns", memory, &last.latency_ns);
    }
    read.into_iter().map(|(_, cache)| cache).collect()
}

fn cache(reader: &mut Reading<'_>, item: Entry<'_>, name: &str) -> Option<Cache> {
    let table = &reader.table(item, name)?;
    reader.only(table, CACHE_KEYS);
    let bytes = figure(reader, table, "bytes", Range::POSITIVE);
    let latency_ns = figure(reader, table, "latency_ns", Range::POSITIVE);
    let shared_by = figure(reader, table, "shared_by", ONE_OR_MORE);
    Some(Cache { bytes: bytes?, latency_ns: latency_ns?, shared_by: shared_by? })
}

/// Refuses a number that is not above the one before it.
fn above(reader: &mut Reading<'_>, line: usize, key: &str, number: &Figure, before: &Figure) {
    if number.value <= before.value {
        let (key, before) = (key.to_owned(), before.value.to_string());
        let found = number.value.to_string();
        reader.refuse(line, ProfileError::NotAbove { key, found, before, line });
    }
}

fn link(reader: &mut Reading<'_>, table: &Table<'_>) -> Option<Link> {
    let entry = reader.need(table, "link", "a table of the costs of crossings")?;
    let table = &reader.table(entry, "`[link]`")?;
    reader.only(table, LINK_KEYS);
    let nic_ns = figure(reader, table, "nic_ns", Range::NOT_NEGATIVE);
    let host_ns = figure(reader, table, "host_ns", Range::NOT_NEGATIVE);
    let byte_ns = figure(reader, table, "byte_ns", Range::NOT_NEGATIVE);
    let owner_ns = figure(reader, table, "owner_ns", Range::NOT_NEGATIVE);
    let owner_exposed = figure(reader, table, "owner_exposed", Range::SHARE);
    let mpps = figure(reader, table, "mpps", Range::POSITIVE);
    let gbps = figure(reader, table, "gbps", Range::POSITIVE);
    let nic_move_ns = figure(reader, table, "nic_move_ns", Range::NOT_NEGATIVE);
    let host_move_ns = figure(reader, table, "host_move_ns", Range::NOT_NEGATIVE);
    let fetch_ns = table.get("fetch_ns");
    let fetch_ns = fetch_ns.map(|_| figure(reader, table, "fetch_ns", Range::NOT_NEGATIVE));
    Some(Link {
        nic_ns: nic_ns?,
        host_ns: host_ns?,
        byte_ns: byte_ns?,
        owner_ns: owner_ns?,
        owner_exposed: owner_exposed?,
        mpps: mpps?,
        gbps: gbps?,
        nic_move_ns: nic_move_ns?,
        host_move_ns: host_move_ns?,
        fetch_ns: match fetch_ns {
            Some(read) => Some(read?),
            None => None,
        },
    })
}

fn port(reader: &mut Reading<'_>, entry: Entry<'_>) -> Option<Port> {
    let table = &reader.table(entry, "`[port]`")?;
    reader.only(table, PORT_KEYS);
    let gbps = figure(reader, table, "gbps", Range::POSITIVE);
    let mpps = figure(reader, table, "mpps", Range::POSITIVE);
    let pcie_gbps = figure(reader, table, "pcie_gbps", Range::POSITIVE);
    let host_ns = figure(reader, table, "host_ns", Range::NOT_NEGATIVE);
    Some(Port { gbps: gbps?, mpps: mpps?, pcie_gbps: pcie_gbps?, host_ns: host_ns? })
}

fn flow_table(reader: &mut Reading<'_>, entry: Entry<'_>) -> Option<FlowTable> {
    let table = &reader.table(entry, "`[flow_table]`")?;
    reader.only(table, FLOW_TABLE_KEYS);
    let entries = figure(reader, table, "entries", Range::POSITIVE);
    let inserts_per_s = figure(reader, table, "inserts_per_s", Range::POSITIVE);
    let expresses = reader.need(table, "expresses", "a list of the abilities of a rule");
    let expresses = expresses.and_then(|entry| rules(reader, entry));
    Some(FlowTable { entries: entries?, inserts_per_s: inserts_per_s?, expresses: expresses? })
}

/// The actions of rules without duplicates, in the order of [`Rule::ALL`].
fn rules(reader: &mut Reading<'_>, entry: Entry<'_>) -> Option<Vec<Rule>> {
    let items = reader.list(entry)?;
    let read: Vec<_> = items.into_iter().map(|item| reader.word(item, &Rule::WORDS)).collect();
    let mut numbers = read.into_iter().collect::<Option<Vec<usize>>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers.into_iter().map(|number| Rule::ALL[number]).collect())
}

/// A number with its source.
fn figure(reader: &mut Reading<'_>, table: &Table<'_>, key: &str, range: Range) -> Option<Figure> {
    let entry = reader.need(table, key, FIGURE)?;
    if entry.is_number() {
        let (key, line) = (key.to_owned(), entry.line);
        reader.refuse(line, ProfileError::NoSource { key, line });
        return None;
    }
    let inner = reader.table(entry, format!("`{key}`"))?;
    reader.only(&inner, FIGURE_KEYS);
    let value = reader.need(&inner, "value", range.wanted);
    let value = value.and_then(|value| reader.number(value.called(key), range));
    let source = source(reader, &inner, key);
    Some(Figure { value: value?, source: source? })
}

fn source(reader: &mut Reading<'_>, table: &Table<'_>, key: &str) -> Option<Source> {
    let (key, line) = (key.to_owned(), table.line);
    let stated: Vec<Entry<'_>> =
        FIGURE_KEYS[1..].iter().filter_map(|source| table.get(source)).collect();
    let entry = match stated[..] {
        [] => {
            reader.refuse(line, ProfileError::NoSource { key, line });
            return None;
        }
        [entry] => entry,
        _ => {
            let count = stated.len();
            reader.refuse(line, ProfileError::ManySources { key, count, line });
            return None;
        }
    };
    let text = reader.string(entry)?.to_owned();
    if text.trim().is_empty() {
        reader.refuse(line, ProfileError::NoSource { key, line });
        return None;
    }
    Some(match entry.key {
        "published" => Source::Published(text),
        "measured" => Source::Measured(text),
        "derived" => Source::Derived(text),
        _ => Source::Assumed(text),
    })
}
