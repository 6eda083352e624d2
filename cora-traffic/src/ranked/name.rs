//! Names of ranked traffic: `zipf:flows=1000000,s=0.99,bytes=64,churn=0.01`, `uniform:flows=32000`.
//!
//! A plan's traffic profiles have the same names, so that a program can run on the traffic of its
//! plan.

use std::str::FromStr;

use super::{MOST_FLOWS, Ranked};
use crate::TrafficError;

impl Ranked {
    /// Returns whether a name is one of ranked traffic, right or wrong: `uniform`, or `zipf` with
    /// parameters. `zipf` alone is a [`Profile`](crate::Profile).
    pub fn is_meant(name: &str) -> bool {
        name == "uniform" || name.starts_with("uniform:") || name.starts_with("zipf:")
    }
}

impl FromStr for Ranked {
    type Err = TrafficError;

    fn from_str(name: &str) -> Result<Self, TrafficError> {
        let refuse = |why: String| TrafficError::Ranked { name: name.to_owned(), why };
        let (law, parameters) = name.split_once(':').unwrap_or((name, ""));
        let mut ranked = match law {
            "uniform" => Self { flows: 40_000, exponent: 0, ..Self::default() },
            "zipf" => Self::default(),
            _ => return Err(refuse("it begins with `uniform` or `zipf`".to_owned())),
        };
        for parameter in parameters.split(',').filter(|_| !parameters.is_empty()) {
            let (key, number) = parameter
                .split_once('=')
                .ok_or_else(|| refuse(format!("`{parameter}` is not like `flows=1000`")))?;
            let within = |digits: u32, least: u64, most: u64| {
                decimal(number, digits).filter(|it| (least..=most).contains(it))
            };
            let (set, wanted) = match key {
                "flows" => (within(0, 1, MOST_FLOWS), "a whole number from 1 to 16777216"),
                "bytes" => (within(0, 60, 1_514), "a whole number from 60 to 1514"),
                "churn" => (within(6, 0, 1_000_000), "a number from 0 to 1 with at most 6 digits"),
                "s" if law == "zipf" => {
                    (within(3, 0, 3_000), "a number from 0 to 3 with at most 3 digits")
                }
                _ => return Err(refuse(format!("there is no parameter `{key}`; {}", known(law)))),
            };
            let set = set.ok_or_else(|| refuse(format!("`{parameter}`: write {wanted}")))?;
            match key {
                "flows" => ranked.flows = set,
                "bytes" => ranked.bytes = set as u16,
                "churn" => ranked.churn = set as u32,
                _ => ranked.exponent = set as u16,
            }
        }
        Ok(ranked)
    }
}

fn known(law: &str) -> &'static str {
    if law == "zipf" { "write flows, s, bytes or churn" } else { "write flows, bytes or churn" }
}

/// Parses a decimal number with at most `digits` decimals. Returns it times ten to that power.
fn decimal(text: &str, digits: u32) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let missing = digits.checked_sub(u32::try_from(part.len()).ok()?)?;
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part: u64 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let scale = 10_u64.checked_pow(digits)?;
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(part * 10_u64.pow(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let named: Ranked = "zipf:flows=1000000,s=0.99,bytes=1500,churn=0.000125".parse().unwrap();
        let wanted = Ranked {
            flows: 1_000_000,
            exponent: 990,
            bytes: 1_500,
            churn: 125,
            ..Ranked::default()
        };
        assert_eq!(named, wanted);
        let even: Ranked = "uniform".parse().unwrap();
        assert_eq!((even.flows, even.exponent), (40_000, 0));
        assert!(Ranked::is_meant("uniform:flows=1") && !Ranked::is_meant("zipf"));
    }

    #[test]
    fn what_a_name_says_wrong_is_told() {
        for (name, why) in [
            ("zipf:flows=0", "write a whole number from 1 to 16777216"),
            ("zipf:s=0.9999", "at most 3 digits"),
            ("zipf:s=", "at most 3 digits"),
            ("zipf:bytes=64.5", "from 60 to 1514"),
            ("zipf:churn=-1", "from 0 to 1"),
            ("zipf:flow=1", "there is no parameter `flow`; write flows, s, bytes or churn"),
            ("uniform:s=1", "there is no parameter `s`; write flows, bytes or churn"),
            ("zipf:flows", "is not like `flows=1000`"),
            ("pareto:flows=1", "begins with `uniform` or `zipf`"),
        ] {
            let error = name.parse::<Ranked>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(name), "{name}: {error}");
        }
    }
}
