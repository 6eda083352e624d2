//! Profiles with published parameters, and their names.
//!
//! | name | packets | flows | popularity |
//! | --- | --- | --- | --- |
//! | `uniform` | 64 bytes | 40,000, as the uniform trace of Maestro's evaluation | all alike |
//! | `zipf` | 64 bytes | 100,000 | Zipf's law, exponent 1.1 |
//! | `campus` | 870.6 bytes | 27,408 per Gbit/s | by the length of flows, see `campus` |
//! | `imix` | 60, 590, 1514 bytes, 7:4:1 | 1,000,000, replaced | Zipf's law, exponent 1.1 |
//! | `kv` | 196 bytes | 1,000 clients of a key-value store | Zipf's law, exponent 0.99 as in YCSB |
//! | `shift` | 357.8 bytes | 10,000 to 200,000, growing | Zipf's law, exponent 0.9 to 1.26, mean |
//!
//! Flows of `campus` come and go: 78.58 packets and, by assumption, 7.8 s each in the mean. All
//! others have a fixed number of flows at any rate. Under churn, one lasts as long as it takes to
//! be replaced: `flows / churn` packets of the whole traffic.

use super::Traffic;
use super::campus::{self, Lengths};
use super::class::nine_digits;
use super::error::TrafficError;
use super::frames::Frames;
use super::parameter::{self, Parameter};
use super::popularity::Popularity;
use super::zipf::Zipf;

/// Names of the built-in profiles.
pub const BUILTIN: [&str; 6] = ["campus", "imix", "kv", "shift", "uniform", "zipf"];

/// A built-in profile: its name, its parameters, and the function that makes it from its name and
/// the parameters' values.
struct Builtin {
    name: &'static str,
    parameters: &'static [Parameter],
    make: fn(&str, &[f64]) -> Traffic,
}

const ALL: [Builtin; 6] = [
    Builtin { name: "campus", parameters: &[parameter::GBPS], make: campus },
    Builtin {
        name: "imix",
        parameters: &[
            parameter::flows(1_000_000.0),
            parameter::churn(CAMPUS_CHURN),
            parameter::exponent(1.1),
        ],
        make: imix,
    },
    Builtin { name: "kv", parameters: &[], make: kv },
    Builtin { name: "shift", parameters: &[], make: shift },
    Builtin {
        name: "uniform",
        parameters: &[parameter::flows(40_000.0), parameter::BYTES, parameter::churn(0.0)],
        make: uniform,
    },
    Builtin {
        name: "zipf",
        parameters: &[
            parameter::flows(100_000.0),
            parameter::BYTES,
            parameter::churn(0.0),
            parameter::exponent(1.1),
        ],
        make: zipf,
    },
];

/// As many new flows per packet as on a campus, whose flows have 79 packets in the mean.
const CAMPUS_CHURN: f64 = 0.012_658;

/// Flows per inside host; no publication says.
const FLOWS_PER_HOST: f64 = 8.0;
/// Flows per outside server; no publication says.
const FLOWS_PER_SERVER: f64 = 32.0;

/// Mean frame of Facebook's ETC pool, see [`kv`]. No frame is long.
const KV_BYTES: f64 = 195.9;

/// Frames of the simple Internet mix, and the weight of each: 64, 594 and 1518 bytes, less 4 bytes
/// of check sequence each.
const IMIX: [(f64, f64); 3] = [(60.0, 7.0), (590.0, 4.0), (1514.0, 1.0)];

impl Traffic {
    /// The built-in profile of this name, with parameters if it takes some:
    /// `zipf:flows=1000000,s=0.99`. `None` if the part before the colon is not in [`BUILTIN`].
    ///
    /// # Errors
    /// All parameters that are unknown or out of range.
    pub fn builtin(name: &str) -> Result<Option<Self>, TrafficError> {
        let (word, text) = name.split_once(':').unwrap_or((name, ""));
        let Some(builtin) = ALL.iter().find(|builtin| builtin.name == word) else {
            return Ok(None);
        };
        let numbers = parameter::read(text, builtin.parameters)
            .map_err(|why| TrafficError::Parameters { name: name.to_owned(), why })?;
        Ok(Some((builtin.make)(name, &numbers)))
    }
}

fn uniform(name: &str, numbers: &[f64]) -> Traffic {
    let [flows, bytes, churn] = [numbers[0], numbers[1], numbers[2]];
    let title = format!("{flows} equal flows, frames of {bytes} bytes{}", told(churn));
    ranked(name, title, Frames::alike(bytes), [flows, churn, 0.0])
}

fn zipf(name: &str, numbers: &[f64]) -> Traffic {
    let [flows, bytes, churn, exponent] = [numbers[0], numbers[1], numbers[2], numbers[3]];
    let title = format!(
        "{flows} flows by Zipf's law with exponent {exponent}, frames of {bytes} bytes{}",
        told(churn)
    );
    ranked(name, title, Frames::alike(bytes), [flows, churn, exponent])
}

/// Zipf's law with frames of the simple Internet mix. By default as many flows open as on a campus.
fn imix(name: &str, numbers: &[f64]) -> Traffic {
    let [flows, churn, exponent] = [numbers[0], numbers[1], numbers[2]];
    let title = format!(
        "{flows} flows by Zipf's law with exponent {exponent}, frames of the simple Internet mix (7:4:1){}",
        told(churn)
    );
    ranked(name, title, Frames::mixed(&IMIX), [flows, churn, exponent])
}

fn told(churn: f64) -> String {
    if churn == 0.0 { String::new() } else { format!(", {churn} flows replaced per packet") }
}

/// Flows by Zipf's law. Churn replaces all flows equally often; the next packet after a replacement
/// opens the new flow.
fn ranked(
    name: &str,
    title: String,
    frames: Frames,
    [flows, churn, exponent]: [f64; 3],
) -> Traffic {
    let zipf = Zipf::new(flows, exponent);
    // Between two packets of a flow there are `1 / rate` packets, each of which replaces it with
    // probability a = `churn / flows`. Gaps are memoryless, so the flow is replaced before its next
    // packet with probability a / (a + rate).
    let replaced = churn / flows;
    let opens = |flows: f64, share: f64| share * replaced / (replaced + share / flows);
    let popularity = Popularity {
        ranks: flows,
        share: &|rank| zipf.share(rank),
        flows: &|rank| rank,
        opens: &opens,
        seconds: None,
        frames,
        hosts: (flows / FLOWS_PER_HOST).ceil(),
        servers: (flows / FLOWS_PER_SERVER).ceil(),
    };
    traffic(name, title, &popularity)
}

/// Concurrent flows are those that begin within the router's time-out: at 10 Gbit/s 18,270 a second
/// for 15 s. That is a minimum, since flows also last ([`campus::GAP_SECONDS`]). `gbps` is only the
/// rate at which flows are counted and divided into classes: at any other rate there are as many
/// more or fewer.
fn campus(name: &str, numbers: &[f64]) -> Traffic {
    let gbps = numbers[0];
    let lengths = Lengths::published();
    let mean = lengths.packets_of_longest(1.0);
    let flows = (gbps * 1e9 / 8.0 / campus::MEAN_FLOW_BYTES * campus::IDLE_SECONDS).ceil();
    let title = format!(
        "a university's border at {gbps} Gbit/s: flow lengths of AGH Kraków, June 2015 (Jurkiewicz et al. 2021), \
         idle after 15 s"
    );
    let popularity = Popularity {
        ranks: flows,
        share: &|rank| lengths.packets_of_longest(rank / flows) / mean,
        flows: &|rank| rank,
        // Each flow opens once in all its packets.
        opens: &|of, _| of / flows / mean,
        seconds: Some(&|packets| (packets - 1.0).max(0.0) * campus::GAP_SECONDS),
        // Only the mean is published.
        frames: Frames::alike(campus::MEAN_BYTES),
        hosts: (flows / FLOWS_PER_HOST).ceil(),
        servers: (flows / FLOWS_PER_SERVER).ceil(),
    };
    let mpps = gbps * 1e9 / 8.0 / campus::MEAN_BYTES / 1e6;
    Traffic { mpps: Some(nine_digits(mpps)), ..traffic(name, title, &popularity) }
}

/// A key-value store: sizes of Facebook's ETC pool (Atikoglu et al., "Workload analysis of a
/// large-scale key-value store", 2012; parameters as in `mutilate`): keys of 36 bytes, values of
/// 186, thirty reads to a write. In memcached's text protocol over TCP and IPv4 without options, 54
/// bytes of headers: read 96 and 297 bytes, write 292 and 62, one frame each. A thousand clients
/// have a connection each to one server. Their activity follows YCSB's constant, 0.99 (Cooper et
/// al. 2010, where it is for keys).
fn kv(name: &str, _numbers: &[f64]) -> Traffic {
    let zipf = Zipf::new(1_000.0, 0.99);
    let title = "1,000 clients of a key-value store: sizes of Facebook's ETC pool (Atikoglu et al. 2012), \
                 30 reads to a write, Zipf's law with exponent 0.99";
    let popularity = Popularity {
        ranks: 1_000.0,
        share: &|rank| zipf.share(rank),
        flows: &|rank| rank,
        opens: &|_, _| 0.0,
        seconds: None,
        frames: Frames::alike(KV_BYTES),
        hosts: 1_000.0,
        servers: 1.0,
    };
    traffic(name, title.to_owned(), &popularity)
}

/// Changing traffic: from 10,000 flows with exponent 0.9 to 200,000 with 1.26. A plan uses its mean
/// over nine equidistant moments. The profile does not show the change itself, and omits the
/// openings from growth (less than one packet in a thousand above 10 Mpps and 20 s).
fn shift(name: &str, _numbers: &[f64]) -> Traffic {
    const MOMENTS: u8 = 9;
    let moments: Vec<(f64, Zipf)> = (0..MOMENTS)
        .map(|moment| f64::from(moment) / f64::from(MOMENTS - 1))
        .map(|part| {
            let flows = 10_000.0 + part * 190_000.0;
            (flows, Zipf::new(flows, 0.9 + part * 0.36))
        })
        .collect();
    let mean =
        |of: &dyn Fn(&(f64, Zipf)) -> f64| moments.iter().map(of).sum::<f64>() / f64::from(MOMENTS);
    let flows = mean(&|(flows, _)| *flows);
    let title = "the mean of traffic that grows from 10,000 to 200,000 flows, with Zipf's exponent from 0.9 to \
                 1.26, frames of the simple Internet mix (7:4:1)";
    let popularity = Popularity {
        ranks: 200_000.0,
        share: &|rank| mean(&|(flows, zipf)| zipf.share(rank.min(*flows))),
        flows: &|rank| mean(&|(flows, _)| rank.min(*flows)),
        opens: &|_, _| 0.0,
        seconds: None,
        frames: Frames::mixed(&IMIX),
        hosts: (flows / FLOWS_PER_HOST).ceil(),
        servers: (flows / FLOWS_PER_SERVER).ceil(),
    };
    traffic(name, title.to_owned(), &popularity)
}

fn traffic(name: &str, title: String, popularity: &Popularity<'_>) -> Traffic {
    Traffic {
        name: name.to_owned(),
        title,
        mean_bytes: nine_digits(popularity.frames.mean()),
        mpps: None,
        by_key: popularity.by_key(),
    }
}
