//! Parameters after the name of a built-in profile: `zipf:flows=1000000,s=0.99`.

use crate::nearest::choose;
use crate::toml::Range;

/// A parameter: its name, its range, and its default.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) range: Range,
    pub(super) default: f64,
}

/// Number of concurrent flows.
pub(super) const fn flows(default: f64) -> Parameter {
    let wanted = "a whole number from 1 to 100000000";
    Parameter { name: "flows", range: from(1.0, 1e8, wanted), default }
}

/// The exponent of Zipf's law.
pub(super) const fn exponent(default: f64) -> Parameter {
    Parameter { name: "s", range: from(0.0, 3.0, "a number from 0 to 3"), default }
}

/// Length of frames, without check sequence.
pub(super) const BYTES: Parameter = Parameter {
    name: "bytes",
    range: from(60.0, 9000.0, "a number from 60 to 9000"),
    default: 64.0,
};

/// Flows replaced by a new one, per packet.
pub(super) const fn churn(default: f64) -> Parameter {
    Parameter { name: "churn", range: from(0.0, 1.0, "a number from 0 to 1"), default }
}

/// The rate at which flows are counted.
pub(super) const GBPS: Parameter = Parameter {
    name: "gbps",
    range: from(0.001, 10_000.0, "a number from 0.001 to 10000"),
    default: 10.0,
};

const fn from(least: f64, most: f64, wanted: &'static str) -> Range {
    Range { wanted, least, above: false, most }
}

/// Reads `flows=1000000,s=0.99`: one number for each of the `known` parameters, in their order.
///
/// # Errors
/// All faults with their remedies.
pub(super) fn read(text: &str, known: &[Parameter]) -> Result<Vec<f64>, Vec<String>> {
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    let mut given: Vec<Option<f64>> = vec![None; known.len()];
    let mut wrong = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let Some((name, number)) = part.split_once('=') else {
            wrong.push(format!("`{part}` is not a parameter; write it like `name=number`"));
            continue;
        };
        let Some(at) = names.iter().position(|known| *known == name.trim()) else {
            wrong.push(if names.is_empty() {
                format!("there is no parameter `{name}`; this profile takes none")
            } else {
                format!("there is no parameter `{name}`; {}", choose(name, &names))
            });
            continue;
        };
        let read = number.trim().replace('_', "").parse().ok();
        let whole = |number: &f64| known[at].name != "flows" || number.fract() == 0.0;
        match read.filter(|number| known[at].range.holds(*number) && whole(number)) {
            Some(_) if given[at].is_some() => {
                wrong.push(format!("`{name}` is given twice; once is enough"));
            }
            Some(number) => given[at] = Some(number),
            None => {
                wrong.push(format!("`{part}` is out of range; write {}", known[at].range.wanted));
            }
        }
    }
    let numbers = given.iter().zip(known).map(|(given, known)| given.unwrap_or(known.default));
    if wrong.is_empty() { Ok(numbers.collect()) } else { Err(wrong) }
}
