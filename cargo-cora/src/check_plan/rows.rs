//! A figure predicted and measured, and the verdict on it.

use cora_plan::model::HEADROOM;
use cora_plan::number::grouped;

/// Relative error within which a count or a share is as predicted: the goal of the model for 95 of
/// 100 cases (docs/results/accuracy.md).
pub(super) const OF_COUNTS: f64 = 0.15;

/// The same for a time: 95 of 100 measured cases are within it (40.4 %, docs/results/accuracy.md).
pub(super) const OF_TIMES: f64 = 0.4;

/// Packets, or flows that move, per packet that make no difference: plans report packets of a
/// thousand, and even the host's cores hardly notice so few.
const FEW: f64 = 0.001;

/// Standard deviations of a count that chance may make.
const CHANCE: f64 = 3.0;

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Packets a second.
    Rate,
    /// Packets that the NIC handles alone.
    AtNic,
    /// Packets that cross to the host.
    Crossings,
    /// Packets that a handler began at the NIC, and that crossed then.
    Punts,
    /// Flows that were handed to the NIC.
    Moves,
    /// Records on the rings.
    Records,
    /// Entries of a table.
    Entries,
    /// Time of the host's cores.
    HostTime,
    /// Host cores.
    HostCores,
    /// Time of the NIC's cores.
    NicTime,
    /// Flows at a time.
    Flows,
    /// Packets that open a flow.
    Opens,
    /// Mean length of frames.
    Bytes,
    /// Packets of a class of flows.
    Class,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Within the tolerance.
    AsPredicted,
    /// By this factor, measured over predicted; infinite where nothing was predicted.
    OffBy(f64),
    /// One of the figures is missing, or means something else.
    NotCompared,
}

/// A figure, with all that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) what: What,
    /// The table or the class of flows.
    pub(super) of: Option<String>,
    /// By the traffic profile.
    pub(super) predicted: Option<f64>,
    /// By a profile of the traffic that was measured on.
    pub(super) own: Option<f64>,
    pub(super) measured: Option<f64>,
    pub(super) tolerance: f64,
    /// A difference that chance may make, or that makes none.
    pub(super) chance: f64,
    pub(super) verdict: Verdict,
    /// Why it is off, or not compared.
    pub(super) cause: Option<String>,
    /// The change that would mend it.
    pub(super) remedy: Option<String>,
}

impl What {
    /// Its name in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::AtNic => "at-nic",
            Self::Crossings => "crossings",
            Self::Punts => "punts",
            Self::Moves => "moves",
            Self::Records => "ring-records",
            Self::Entries => "entries",
            Self::HostTime => "host-time",
            Self::HostCores => "host-cores",
            Self::NicTime => "nic-time",
            Self::Flows => "flows",
            Self::Opens => "opens",
            Self::Bytes => "frame-bytes",
            Self::Class => "class-share",
        }
    }

    /// Its unit in JSON.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Rate => "Mpps",
            Self::AtNic | Self::Crossings | Self::Punts | Self::Opens | Self::Class => {
                "packets/packet"
            }
            Self::Moves => "flows/packet",
            Self::Records => "records/packet",
            Self::Entries => "entries",
            Self::HostTime | Self::NicTime => "ns/packet",
            Self::HostCores => "cores",
            Self::Flows => "flows",
            Self::Bytes => "bytes",
        }
    }

    /// Its words in a table.
    fn words(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::AtNic => "packets that stay at the NIC",
            Self::Crossings => "packets that cross to the host",
            Self::Punts => "of these punts",
            Self::Moves => "flows handed over, per packet",
            Self::Records => "ring records per packet",
            Self::Entries => "entries of",
            Self::HostTime => "host core time per packet",
            Self::HostCores => "host cores at this rate",
            Self::NicTime => "NIC core time per packet",
            Self::Flows => "flows at a time",
            Self::Opens => "packets that open a flow",
            Self::Bytes => "mean frame",
            Self::Class => "packets of",
        }
    }

    /// A figure as a table shows it.
    pub(super) fn shown(self, figure: f64) -> String {
        match self {
            Self::Rate => format!("{} Mpps", digits(figure)),
            Self::AtNic
            | Self::Crossings
            | Self::Punts
            | Self::Moves
            | Self::Opens
            | Self::Class => {
                format!("{:.2} %", figure * 100.0)
            }
            Self::Records => format!("{figure:.3}"),
            Self::Entries | Self::Flows => whole(figure),
            Self::HostTime | Self::NicTime => format!("{} ns", digits(figure)),
            Self::HostCores => digits(figure),
            Self::Bytes => format!("{figure:.1} B"),
        }
    }

    /// The least difference that is one. Openings and entries have none: few packets make many
    /// entries in time.
    fn least(self) -> f64 {
        match self {
            Self::AtNic | Self::Crossings | Self::Punts | Self::Moves => FEW,
            _ => 0.0,
        }
    }

    fn tolerance(self) -> f64 {
        match self {
            Self::Rate => HEADROOM,
            Self::HostTime | Self::HostCores | Self::NicTime => OF_TIMES,
            _ => OF_COUNTS,
        }
    }
}

impl Row {
    /// A row with the verdict on it. `counted` is the number that a figure of 1 stands for, if the
    /// figure is a count over it: chance moves that by a few of its standard deviations.
    pub(super) fn compared(
        what: What,
        of: Option<&str>,
        [predicted, own]: [Option<f64>; 2],
        measured: f64,
        counted: Option<f64>,
    ) -> Self {
        let mut row = Self::left(what, of, [predicted, own], Some(measured), None);
        let chance = counted.map_or(0.0, |number| chance(predicted.unwrap_or(0.0), number));
        row.chance = chance.max(what.least());
        row.verdict = predicted.map_or(Verdict::NotCompared, |predicted| row.judge(predicted));
        row
    }

    /// The same row, where differences up to this one make none.
    #[must_use]
    pub(super) fn beyond(mut self, difference: f64) -> Self {
        self.chance = self.chance.max(difference);
        if let (Some(predicted), true) = (self.predicted, self.verdict != Verdict::NotCompared) {
            self.verdict = self.judge(predicted);
        }
        self
    }

    /// A row that is not compared, and why.
    pub(super) fn left(
        what: What,
        of: Option<&str>,
        [predicted, own]: [Option<f64>; 2],
        measured: Option<f64>,
        cause: Option<String>,
    ) -> Self {
        let (of, tolerance) = (of.map(str::to_owned), what.tolerance());
        let (verdict, chance, remedy) = (Verdict::NotCompared, 0.0, None);
        Self { what, of, predicted, own, measured, tolerance, chance, verdict, cause, remedy }
    }

    /// The verdict if this had been predicted.
    pub(super) fn judge(&self, predicted: f64) -> Verdict {
        match self.measured {
            None => Verdict::NotCompared,
            Some(measured) if self.error(predicted) <= self.tolerance => {
                debug_assert!(measured.is_finite(), "figures are counted or divided by counts");
                Verdict::AsPredicted
            }
            Some(measured) => Verdict::OffBy(measured / predicted),
        }
    }

    /// Relative error of a prediction, the same whether it is too high or too low by a factor; 0
    /// where chance explains it.
    fn error(&self, predicted: f64) -> f64 {
        let measured = self.measured.unwrap_or(predicted);
        let allowed = self.what == What::Rate && measured < predicted;
        if allowed || (measured - predicted).abs() <= self.chance.max(f64::EPSILON) {
            return 0.0;
        }
        let (low, high) = (measured.min(predicted), measured.max(predicted));
        if low > 0.0 { high / low - 1.0 } else { f64::INFINITY }
    }

    /// How far it is off, if it is compared.
    pub(super) fn deviation(&self) -> Option<f64> {
        let compared = self.verdict != Verdict::NotCompared;
        self.predicted.filter(|_| compared).map(|predicted| self.error(predicted))
    }

    /// Whether the figure is as predicted by the profile of the traffic itself.
    pub(super) fn is_of_traffic(&self) -> bool {
        self.own.is_some_and(|own| self.judge(own) == Verdict::AsPredicted)
    }

    /// The first column of a table.
    pub(super) fn words(&self) -> String {
        let words = self.what.words();
        self.of.as_ref().map_or_else(|| words.to_owned(), |of| format!("{words} {of}"))
    }
}

/// A few standard deviations of a count (Poisson), as a part of `number`.
fn chance(predicted: f64, number: f64) -> f64 {
    if number > 0.0 { CHANCE * (predicted * number).max(1.0).sqrt() / number } else { 0.0 }
}

/// Three digits that count.
pub(super) fn digits(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 => whole(figure),
        size if size >= 10.0 => format!("{figure:.1}"),
        size if size >= 1.0 => format!("{figure:.2}"),
        size if size >= 0.001 || size == 0.0 => format!("{figure:.3}"),
        _ => format!("{figure:.6}"),
    }
}

/// Without a fraction.
#[expect(clippy::cast_sign_loss, reason = "figures are never negative")]
pub(super) fn whole(figure: f64) -> String {
    grouped(figure.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(what: What, predicted: f64, measured: f64, counted: Option<f64>) -> Verdict {
        Row::compared(what, None, [Some(predicted), None], measured, counted).verdict
    }

    #[test]
    fn a_figure_is_as_predicted_within_its_tolerance_either_way() {
        for (predicted, measured) in [(100.0, 114.9), (114.9, 100.0), (0.0, 0.0)] {
            let is = verdict(What::Bytes, predicted, measured, None);
            assert_eq!(is, Verdict::AsPredicted, "{predicted} {measured}");
        }
        assert_eq!(verdict(What::Bytes, 100.0, 300.0, None), Verdict::OffBy(3.0));
        assert_eq!(verdict(What::Bytes, 100.0, 50.0, None), Verdict::OffBy(0.5));
        assert_eq!(verdict(What::HostTime, 100.0, 139.0, None), Verdict::AsPredicted);
        assert_eq!(verdict(What::HostTime, 100.0, 150.0, None), Verdict::OffBy(1.5));
        assert_eq!(verdict(What::Punts, 0.0, 0.5, None), Verdict::OffBy(f64::INFINITY));
    }

    #[test]
    fn what_chance_explains_is_as_predicted() {
        // Four packets of a hundred are expected: nine are within three deviations, eleven are not.
        assert_eq!(verdict(What::Punts, 0.04, 0.09, Some(100.0)), Verdict::AsPredicted);
        assert_eq!(verdict(What::Punts, 0.04, 0.11, Some(100.0)), Verdict::OffBy(0.11 / 0.04));
        // Of a million packets the same share is no chance.
        assert_eq!(verdict(What::Punts, 0.04, 0.10, Some(1e6)), Verdict::OffBy(2.5));
        // None is expected, and two come.
        assert_eq!(verdict(What::Punts, 0.0, 0.002, Some(1000.0)), Verdict::AsPredicted);
        assert_eq!(verdict(What::Punts, 0.0, 0.004, Some(1000.0)), Verdict::OffBy(f64::INFINITY));
    }

    #[test]
    fn so_few_packets_that_nobody_notices_are_as_predicted() {
        assert_eq!(verdict(What::Crossings, 0.0, 0.0003, Some(1e9)), Verdict::AsPredicted);
        assert_eq!(verdict(What::Crossings, 0.0, 0.003, Some(1e9)), Verdict::OffBy(f64::INFINITY));
        assert_eq!(verdict(What::Opens, 0.0, 0.0003, Some(1e9)), Verdict::OffBy(f64::INFINITY));
    }

    #[test]
    fn a_difference_that_makes_none_is_as_predicted() {
        let off =
            |measured| Row::compared(What::HostCores, None, [Some(0.0), None], measured, None);
        assert_eq!(off(0.009).verdict, Verdict::OffBy(f64::INFINITY));
        assert_eq!(off(0.009).beyond(0.01).verdict, Verdict::AsPredicted);
        assert_eq!(off(0.02).beyond(0.01).verdict, Verdict::OffBy(f64::INFINITY));
        let left = Row::left(What::HostCores, None, [Some(0.0), None], Some(0.009), None);
        assert_eq!(left.beyond(0.01).verdict, Verdict::NotCompared);
    }

    #[test]
    fn less_traffic_than_planned_for_is_as_planned() {
        assert_eq!(verdict(What::Rate, 2.0, 0.1, None), Verdict::AsPredicted);
        assert_eq!(verdict(What::Rate, 2.0, 2.09, None), Verdict::AsPredicted);
        assert_eq!(verdict(What::Rate, 2.0, 3.0, None), Verdict::OffBy(1.5));
    }

    #[test]
    fn what_is_not_compared_has_no_deviation() {
        let left = Row::left(What::HostTime, None, [Some(1.0), None], Some(9.0), None);
        assert_eq!((left.verdict, left.deviation()), (Verdict::NotCompared, None));
        let off =
            Row::compared(What::Entries, Some("Session"), [Some(100.0), Some(250.0)], 300.0, None);
        assert!((off.deviation().unwrap() - 2.0).abs() < 1e-9);
        assert!(!off.is_of_traffic(), "by its own traffic it is off, too");
        assert_eq!(off.words(), "entries of Session");
        let own = Row::compared(What::Entries, None, [Some(100.0), Some(290.0)], 300.0, None);
        assert!(own.is_of_traffic());
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        let shown = [12_345.6, 42.26, 1.556, 0.0213, 0.0].map(digits);
        assert_eq!(shown, ["12,346", "42.3", "1.56", "0.021", "0.000"]);
        assert_eq!(What::AtNic.shown(0.987), "98.70 %");
    }
}
