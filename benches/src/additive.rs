//! Both halves at once, each with its own buckets, against the sum of what each does by itself: a
//! plan that deals buckets adds the NIC's cores to the host's only if one half doesn't slow the
//! other.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

/// Packets of a turn.
const TURN: usize = 1 << 20;
/// The flows of all packets, dealt to both halves.
const FLOWS: u64 = 32_768;
/// The least part of the sum.
const GOAL: f64 = 0.9;

/// Rates in millions of packets a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Additive {
    host_alone: f64,
    nic_alone: f64,
    both: f64,
    /// `both` as a part of the sum of the other two.
    additivity: f64,
}

/// What a half did in a pass.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Pass {
    packets: f64,
    ns: f64,
    left: f64,
}

impl Pass {
    pub(crate) fn ns_per_packet(self) -> f64 {
        self.ns / self.packets
    }

    /// Returns the part of the packets that left.
    pub(crate) fn left(self) -> f64 {
        self.left / self.packets
    }
}

/// A turn: both by themselves, and both at once.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Turn {
    host_alone: Pass,
    nic_alone: Pass,
    pub(crate) host_beside: Pass,
    pub(crate) nic_beside: Pass,
    for_host: f64,
    for_nic: f64,
}

impl Turn {
    /// Returns the part of the packets that the NIC's half gets.
    pub(crate) fn to_nic(self) -> f64 {
        self.for_nic / (self.for_host + self.for_nic)
    }
}

/// Measures the programs in `programs`, which are built under the plan `dealt`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    for example in ["firewall", "nat"] {
        let name = format!("additive/{example}/32k");
        if wanted(&name) {
            tell(compare(name, &programs.join(example), programs, if quick { 7 } else { 21 })?);
        }
    }
    Ok(())
}

fn compare(name: String, program: &Path, room: &Path, turns: usize) -> std::io::Result<Figure> {
    let traffic = Traffic::opened_from_inside(FLOWS, Skew::Uniform, TURN);
    let capture = traffic.save(&room.join("bench.pcap"))?;
    let mut program = Program::start_half(program, "dealt", &capture, traffic.warm)?;
    let turns = (0..turns).map(|_| program.ask::<Turn>()).collect::<Result<Vec<_>, _>>()?;
    let times = |of: fn(&Turn) -> Pass| {
        Turns::new(turns.iter().map(|turn| of(turn).ns_per_packet()).collect())
    };
    let [host, nic, host_beside, nic_beside] = [
        times(|turn| turn.host_alone),
        times(|turn| turn.nic_alone),
        times(|turn| turn.host_beside),
        times(|turn| turn.nic_beside),
    ];
    let rate = |turns: &Turns| 1e3 / turns.median();
    let (sum, both) = (rate(&host) + rate(&nic), rate(&host_beside) + rate(&nic_beside));
    let spread = [&host, &nic, &host_beside, &nic_beside].map(Turns::spread);
    let spread = spread.into_iter().fold(0.0, f64::max);
    Ok(Figure {
        name,
        cora: both,
        baseline: sum,
        baseline_name: "sum of each alone",
        ratio: both / sum,
        goal: GOAL,
        unit: "M/s",
        spread,
        carried: None,
        additive: Some(Additive {
            host_alone: rate(&host),
            nic_alone: rate(&nic),
            both,
            additivity: both / sum,
        }),
    })
}
