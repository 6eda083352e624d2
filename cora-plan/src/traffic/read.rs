//! Reads traffic profiles from TOML, or by name.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{ProfileFault, TrafficError};
use super::{Bin, Class, Traffic, frames};
use crate::toml::{Entry, Range, Reader, Table};

/// Tolerance of sums.
const SLACK: f64 = 1e-6;

const BINS: &str = "a list of pairs `[flows, share]`, the heaviest flows first";

const CLASS_KEYS: [&str; 8] =
    ["name", "flows", "share", "opens", "seconds", "mean-bytes", "head-bytes", "bins"];

type Faults<'a> = Reader<'a, ProfileFault>;

impl Traffic {
    /// The built-in profile of a name, or the profile in a file: `zipf`, `zipf:flows=1000,s=1.26`,
    /// `mine.toml`.
    ///
    /// # Errors
    /// With the remedy: the nearest name, the known parameters, or the faulty lines of a file.
    pub fn load(name_or_path: &str) -> Result<Self, TrafficError> {
        if let Some(traffic) = Self::builtin(name_or_path)? {
            return Ok(traffic);
        }
        let path = Path::new(name_or_path);
        let is_path = path.exists()
            || path.components().count() > 1
            || path.extension().is_some_and(|extension| extension == "toml");
        if !is_path {
            return Err(TrafficError::Unknown { name: name_or_path.to_owned() });
        }
        let path = name_or_path.to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map_err(|faults| TrafficError::Faulty { path, faults }),
            Err(error) => Err(TrafficError::Unreadable { path, why: error.to_string() }),
        }
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// All its faults, each with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<ProfileFault>> {
        let begins = "begins with `name = \"…\"`, `title = \"…\"` and `mean-bytes = …`";
        Reader::read(text, "a traffic profile", begins, profile)
    }
}

fn profile(reader: &mut Faults<'_>, table: &Table<'_>) -> Option<Traffic> {
    reader.only(table, &["name", "title", "mean-bytes", "mpps", "by-key"]);
    let name = reader.need(table, "name", "its name");
    let title = reader.need(table, "title", "a title of one line");
    let bytes = reader.need(table, "mean-bytes", "the mean length of a frame");
    let by_key = reader.need(table, "by-key", "classes of flows, as `[[by-key.FiveTuple]]`");
    let name = name.and_then(|entry| reader.string(entry));
    let title = title.and_then(|entry| reader.string(entry));
    let mean_bytes = bytes.and_then(|entry| reader.number(entry, Range::POSITIVE));
    let mpps = match table.get("mpps") {
        Some(entry) => Some(reader.number(entry, Range::POSITIVE)?),
        None => None,
    };
    let by_key = by_key.and_then(|entry| keys(reader, entry, mpps.is_some()));
    Some(Traffic {
        name: name?.to_owned(),
        title: title?.to_owned(),
        mean_bytes: mean_bytes?,
        mpps,
        by_key: by_key?,
    })
}

fn keys(
    reader: &mut Faults<'_>,
    entry: Entry<'_>,
    timed: bool,
) -> Option<BTreeMap<String, Vec<Class>>> {
    let table = reader.table(entry, "`[by-key]`")?;
    reader.need(&table, "FiveTuple", "classes of flows");
    let mut by_key = BTreeMap::new();
    let mut whole = true;
    for entry in &table.entries {
        if !entry.key.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
            let (key, line) = (entry.key.to_owned(), entry.line);
            reader.refuse(line, ProfileFault::Key { key, line });
        }
        let list = reader.list(*entry);
        let classes = list.and_then(|list| classes(reader, entry, &list, timed));
        whole &= classes.is_some();
        by_key.insert(entry.key.to_owned(), classes.unwrap_or_default());
    }
    whole.then_some(by_key)
}

fn classes(
    reader: &mut Faults<'_>,
    key: &Entry<'_>,
    list: &[Entry<'_>],
    timed: bool,
) -> Option<Vec<Class>> {
    let read: Vec<_> =
        list.iter().map(|entry| (class(reader, *entry, timed), entry.line)).collect();
    let read: Option<Vec<(Class, usize)>> =
        read.into_iter().map(|(class, line)| Some((class?, line))).collect();
    let read = read?;
    let share = read.iter().map(|(class, _)| class.share).sum();
    let what = format!("the shares of the classes of `{}`", key.key);
    adds_up(reader, what, share, 1.0, key.line);
    for (at, (class, line)) in read.iter().enumerate() {
        let line = *line;
        if read[..at].iter().any(|(other, _)| other.name == class.name) {
            let (name, key) = (class.name.clone(), key.key.to_owned());
            reader.refuse(line, ProfileFault::Twice { name, key, line });
        }
    }
    Some(read.into_iter().map(|(class, _)| class).collect())
}

/// `timed`: the profile says at which rate its flows were counted.
fn class(reader: &mut Faults<'_>, entry: Entry<'_>, timed: bool) -> Option<Class> {
    let table = reader.table(entry, format!("a class of `{}`", entry.key))?;
    reader.only(&table, &CLASS_KEYS);
    let name = reader.need(&table, "name", "the name of the class");
    let name = name.and_then(|entry| reader.string(entry));
    let mut number = |key: &str, wanted: &'static str, range: Range| {
        let entry = reader.need(&table, key, wanted)?;
        reader.number(entry, range)
    };
    let flows = number("flows", "flows at a time", Range::POSITIVE);
    let share = number("share", "the share of all packets", Range::POSITIVE_SHARE);
    let opens =
        number("opens", "the share of its packets that are the first of a flow", Range::SHARE);
    let mean_bytes = number("mean-bytes", "the mean length of its frames", Range::POSITIVE);
    let head_bytes = head_bytes(reader, &table, mean_bytes);
    let seconds = seconds(reader, &table, timed);
    let entry = reader.need(&table, "bins", BINS);
    let bins = entry.and_then(|entry| Some((bins(reader, entry)?, entry.line)));
    let (name, flows, share) = (name?.to_owned(), flows?, share?);
    let (bins, line) = bins?;
    let what = |of: &str| format!("the {of} of the bins of `{name}`");
    let sum = |of: fn(&Bin) -> f64| bins.iter().map(of).sum();
    adds_up(reader, what("flows"), sum(|bin| bin.flows), flows, line);
    adds_up(reader, what("shares"), sum(|bin| bin.share), share, line);
    let (mean_bytes, head_bytes) = (mean_bytes?, head_bytes?);
    let (opens, seconds) = (opens?, seconds?);
    Some(Class { name, flows, share, opens, seconds, mean_bytes, head_bytes, bins })
}

/// How long flows last, if the class says so; the outer `None` is a fault.
#[expect(clippy::option_option, reason = "a fault, or a key that is left out")]
fn seconds(reader: &mut Faults<'_>, table: &Table<'_>, timed: bool) -> Option<Option<f64>> {
    let Some(entry) = table.get("seconds") else { return Some(None) };
    if !timed {
        let line = entry.line;
        reader.refuse(line, ProfileFault::Untimed { line });
        return None;
    }
    reader.number(entry, Range::NOT_NEGATIVE).map(Some)
}

/// The bytes of a frame that cross under header split. The default assumes that all frames have the
/// mean length.
fn head_bytes(reader: &mut Faults<'_>, table: &Table<'_>, mean: Option<f64>) -> Option<f64> {
    let Some(entry) = table.get("head-bytes") else { return mean.map(frames::crossing) };
    let wanted = "a number above 0, at most `mean-bytes`";
    let most = mean.unwrap_or(f64::MAX);
    reader.number(entry, Range { wanted, least: 0.0, above: true, most })
}

fn bins(reader: &mut Faults<'_>, entry: Entry<'_>) -> Option<Vec<Bin>> {
    let list = reader.list(entry)?;
    let read: Vec<Option<Bin>> = list.into_iter().map(|entry| bin(reader, entry)).collect();
    read.into_iter().collect()
}

fn bin(reader: &mut Faults<'_>, entry: Entry<'_>) -> Option<Bin> {
    let pair = reader.list(entry)?;
    let [flows, share] = pair[..] else {
        let (found, line) = (pair.len(), entry.line);
        reader.refuse(line, ProfileFault::Pair { found, line });
        return None;
    };
    let flows = reader.number(flows, Range::POSITIVE);
    let share = reader.number(share, Range::POSITIVE_SHARE);
    Some(Bin { flows: flows?, share: share? })
}

/// Refuses parts with a wrong sum.
fn adds_up(reader: &mut Faults<'_>, what: String, sum: f64, wanted: f64, line: usize) {
    if (sum - wanted).abs() > SLACK * wanted {
        let (sum, wanted) = (super::class::nine_digits(sum).to_string(), wanted.to_string());
        reader.refuse(line, ProfileFault::Sum { what, sum, wanted, line });
    }
}
