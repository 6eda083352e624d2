//! # sensors: only readings that say something new reach their server
//!
//! A reading passes to the server if it is at the other side of a threshold than the last one that
//! passed, differs from that by more than a given amount, or comes after a given time in which none
//! of its sensor passed. All others end here. The sixteen sensors with most readings are listed.
//!
//! Try it:  `cargo cora run sensors --live inside=packet:eth1,outside=packet:eth0,pass=opposite
//! --config Rule=rule.txt`, with the server behind `inside` and the sensors behind `outside`.
//!
//! Expect:  the whole program on the NIC: most readings end where they come.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A reading, as a sensor sends it.
#[message(udp, port = 7000)]
struct Reading {
    #[key]
    sensor: u32,
    value: i32,
}

/// A sensor, and its last reading that passed.
#[state(key = u32, capacity = 65_536, idle = "1h")]
struct Sensor {
    readings: u64,
    passed: i32,
    passed_at: u64,
}

/// Which readings say something new.
#[state(read_mostly)]
struct Rule {
    /// A reading of this much or more is above.
    threshold: i32,
    /// A reading that differs by more passes.
    change: u32,
    /// Seconds after which a reading passes in any case.
    silence: u32,
}

#[state(commutative)]
struct Counts {
    readings: Sum,
    passed: Sum,
    /// The sensors with the most readings.
    busiest: TopK<u32, 16>,
}

impl Default for Rule {
    /// Readings pass once a minute, whatever they say.
    fn default() -> Self {
        Self { threshold: 0, change: u32::MAX, silence: 60 }
    }
}

#[host_only]
impl Configure for Rule {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut rule = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, number) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let number: i64 = number.trim().parse().map_err(|_| "not a whole number")?;
            match word {
                "threshold" => {
                    let most = "a threshold has 32 bits, with its sign";
                    rule.threshold = number.try_into().map_err(|_| most)?;
                }
                "change" => {
                    rule.change =
                        number.try_into().map_err(|_| "a change is from 0 to 4294967295")?;
                }
                "silence" if (1..=3_600).contains(&number) => rule.silence = number as u32,
                "silence" => return Err("a silence is from 1 to 3600 seconds"),
                _ => {
                    return Err(
                        "a line is `threshold NUMBER`, `change NUMBER` or `silence SECONDS`",
                    );
                }
            }
        }
        Ok(rule)
    }
}

impl Rule {
    /// Whether a reading says something that the server does not know from the last one.
    fn is_news(&self, value: i32, now: u64, last: &Sensor) -> bool {
        (value >= self.threshold) != (last.passed >= self.threshold)
            || value.abs_diff(last.passed) > self.change
            || now.saturating_sub(last.passed_at) >= u64::from(self.silence) * SECOND
    }
}

/// Passes a reading on to the server if it says something new.
#[flow_handler]
fn filter(
    reading: Reading,
    envelope: &Envelope,
    rule: &Rule,
    sensors: &mut Table<Sensor>,
    counts: &mut Counts,
) -> Verdict {
    let (Reading { sensor: number, value }, now) = (reading, envelope.now());
    counts.readings.add(1);
    let (readings, is_news) = if let Some(sensor) = sensors.get_mut(&number) {
        sensor.readings += 1;
        let is_news = rule.is_news(value, now, sensor);
        if is_news {
            (sensor.passed, sensor.passed_at) = (value, now);
        }
        (sensor.readings, is_news)
    } else {
        // Without room for the sensor, each of its readings is the first.
        _ = sensors.insert(number, Sensor { readings: 1, passed: value, passed_at: now });
        (1, true)
    };
    counts.busiest.raise(number, readings);
    if !is_news {
        return Done;
    }
    counts.passed.add(1);
    Pass
}

cora::app!(filter);

#[cfg(test)]
mod tests;
