//! Reasons of decisions, in words.

use std::fmt;

use super::settings::Costs;

/// A reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    Begin,
    Room { full: f64, tight: bool },
    Lives { packets: f64, after: u32 },
    Share { share: u16, over: bool },
    Rest { seconds: f64 },
    Capacity { flows: f64 },
    Earns { packets: f64, idle: u64 },
    Relief { ahead: f64, high: f64, flows: usize, part: f64 },
    NoRelief { ahead: f64, high: f64, cause: &'static str },
    Gain { flows: usize, rate: f64, saved: f64, urgent: bool },
    MakeRoom { flows: usize, rate: f64, instead: f64 },
    Fallback { wrong: f64, seconds: f64, costs: Costs },
    Again,
    Drift { what: &'static str, cost: f64, expected: f64, by_plan: bool },
}

/// Returns a part as hundredths.
fn percent(part: f64) -> f64 {
    100.0 * part
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Begin => write!(
                f,
                "it begins with the plan's admission, and a rest for flows that came back"
            ),
            Self::Room { full, tight: true } => write!(
                f,
                "the NIC owns {:.0} % of the flows that fit: from now on, flows go there only when they are seen to earn more than others",
                percent(full)
            ),
            Self::Room { full, tight: false } => write!(
                f,
                "the NIC owns {:.0} % of the flows that fit: there is room for all again",
                percent(full)
            ),
            Self::Lives { packets, after } => write!(
                f,
                "flows have {packets:.1} packets at the NIC after they moved: they are offered after {after} packets"
            ),
            Self::Share { share, over: true } => {
                write!(f, "the NIC has too much to do: {share} of 1,024 flows are offered")
            }
            Self::Share { share, over: false } => {
                write!(f, "the NIC has time left: {share} of 1,024 flows are offered")
            }
            Self::Rest { seconds } => write!(
                f,
                "flows that came back are not offered for {seconds} s, unless they are by name"
            ),
            Self::Earns { packets, idle: 0 } => {
                write!(f, "no flow takes another's place ({packets:.0} packets/s earned one)")
            }
            Self::Earns { packets, idle } => write!(
                f,
                "flows with {packets:.0} packets a second go to the NIC, in the place of such without any for {:.1} ms",
                super::number::real(idle) / 1e6
            ),
            Self::Capacity { flows } => write!(f, "{flows:.0} flows fit at the NIC now"),
            Self::Relief { ahead, high, flows, part } => write!(
                f,
                "the NIC will need {:.0} % of its time, more than {:.0} %: {flows} flows come back, which need {:.1} %",
                percent(ahead),
                percent(high),
                percent(part)
            ),
            Self::NoRelief { ahead, high, cause } => write!(
                f,
                "the NIC will need {:.0} % of its time, more than {:.0} %, but nothing comes back: {cause}",
                percent(ahead),
                percent(high)
            ),
            Self::Gain { flows, rate, saved, urgent } => write!(
                f,
                "{flows} flows with {rate:.0} packets a second go to the NIC: it saves {:.2} % of a host core{}",
                percent(saved),
                if urgent { ", which has too much to do" } else { "" }
            ),
            Self::MakeRoom { flows, rate, instead } => write!(
                f,
                "{flows} flows with {rate:.0} packets a second at most leave the NIC, to make room for such with {instead:.0} at least"
            ),
            Self::Fallback { wrong, seconds, costs } => write!(
                f,
                "the times that are predicted are wrong by {:.0} % (packets: {:.0} ns at the host, {:.0} and {:.0} ns at the NIC): the plan alone decides for {seconds:.0} s",
                percent(wrong),
                costs.host_packet,
                costs.nic_packet,
                costs.nic_pass
            ),
            Self::Again => {
                write!(f, "after the time that the plan alone decided, it is tried again")
            }
            Self::Drift { what, cost, expected, by_plan } => {
                let by = if by_plan { "the plan's prediction" } else { "the expected cost" };
                write!(f, "{what} costs {cost:.0} ns, {:.2} of {by}", cost / expected)
            }
        }
    }
}
