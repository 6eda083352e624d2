//! What Cora's plans save over the contested band, and against each baseline.

use super::row::{Band, Row};
use super::way::{HOST_ONLY, Way};
use crate::optimise::highest_of;
use crate::what_if::Case;

/// Savings below this share of host-only's cores are nothing.
const NOTHING: f64 = 1e-3;

/// Over the contested rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Contested rows.
    pub rows: usize,
    /// Lowest and highest contested rate, in million packets a second.
    pub from_to_mpps: [f64; 2],
    /// The contested rate in the middle.
    pub middle_mpps: f64,
    /// Contested rows that Cora's plans don't carry.
    pub not_carried: usize,
    /// Host cores that Cora's plans save: median and maximum.
    pub saved_cores: [f64; 2],
    /// The same as shares of host-only's cores.
    pub saved_share: [f64; 2],
    /// Against each baseline that splits the program.
    pub gains: Vec<(Way, Gain)>,
    /// The most host cores that the card is worth under Cora's plans, and the rate there.
    pub worth: [f64; 2],
}

/// Against one baseline: cores that Cora saves over those that it saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Median and maximum ratio over the rows where the baseline saves something; `None` if there
    /// are none.
    pub ratio: Option<[f64; 2]>,
    /// Rows where the baseline saves nothing, though Cora does.
    pub saves_nothing: usize,
}

/// Highest rates with so many host cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Highest {
    /// Host cores.
    pub host_cores: u32,
    /// The highest rate of each way, in million packets a second; 0 if there is none.
    pub mpps: Vec<(Way, f64)>,
}

impl Highest {
    /// The highest rate of a way.
    pub fn of(&self, way: Way) -> f64 {
        self.mpps.iter().find(|(of, _)| *of == way).map_or(0.0, |(_, mpps)| *mpps)
    }

    /// What Cora's rate is above that of host-only, and above that of the best baseline.
    pub fn added(&self) -> [f64; 2] {
        let cora = self.of(Way::Cora);
        let baselines = self.mpps.iter().filter(|(way, _)| matches!(way, Way::Baseline(_)));
        let best = baselines.map(|(_, mpps)| *mpps).fold(0.0, f64::max);
        [cora - self.of(HOST_ONLY), cora - best]
    }
}

/// The highest rates of every way, up to `most`.
pub(super) fn highest(case: &Case, host_cores: &[u32], most: f64) -> Vec<Highest> {
    if most <= 0.0 {
        return Vec::new();
    }
    let available = case.nic.host.cores.value;
    let cores = host_cores.iter().copied().filter(|cores| f64::from(*cores) <= available);
    cores
        .map(|host_cores| {
            let of = |way: Way| {
                (way, highest_of(most, f64::from(host_cores), |mpps| way.at(case, mpps)))
            };
            Highest { host_cores, mpps: Way::all().map(of).collect() }
        })
        .collect()
}

/// The summary of the contested rows; `None` without any.
pub(super) fn of(rows: &[Row]) -> Option<Summary> {
    let band: Vec<&Row> = rows.iter().filter(|row| row.band == Band::Contested).collect();
    let (first, last) = (band.first()?, band.last()?);
    let saved: Vec<(f64, f64)> = band.iter().filter_map(|row| row.saved(Way::Cora)).collect();
    let worth = rows.iter().filter_map(|row| Some((row.saved(Way::Cora)?.0, row.mpps)));
    let worth = worth.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    Some(Summary {
        rows: band.len(),
        from_to_mpps: [first.mpps, last.mpps],
        middle_mpps: band[band.len() / 2].mpps,
        not_carried: band.len() - saved.len(),
        saved_cores: median_and_most(saved.iter().map(|(cores, _)| *cores)).unwrap_or_default(),
        saved_share: median_and_most(saved.iter().map(|(_, share)| *share)).unwrap_or_default(),
        gains: Way::splits().map(|way| (way, gain(&band, way))).collect(),
        worth: worth.into(),
    })
}

fn gain(band: &[&Row], way: Way) -> Gain {
    let both = band.iter().filter_map(|row| Some((row.saved(Way::Cora)?, row.saved(way)?)));
    let both: Vec<((f64, f64), (f64, f64))> = both.collect();
    let some = both.iter().filter(|(_, theirs)| theirs.1 > NOTHING);
    let ratio = median_and_most(some.map(|(ours, theirs)| ours.0 / theirs.0));
    let nothing = both.iter().filter(|(ours, theirs)| theirs.1 <= NOTHING && ours.1 > NOTHING);
    Gain { ratio, saves_nothing: nothing.count() }
}

/// Median and maximum; of an even number the mean of both in the middle.
fn median_and_most(numbers: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    let most = *sorted.last()?;
    let half = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        f64::midpoint(sorted[half - 1], sorted[half])
    };
    Some([median, most])
}
