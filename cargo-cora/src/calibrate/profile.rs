//! A NIC profile from the measurements.

use cora_plan::figure::{Figure, Source};
use cora_plan::nic::{Cache, Link, NicProfile, Tier};

use super::Measured;
use super::crossing::Crossings;
use super::handling::{CHURNED, Fit, FrameTimes, SideTimes};
use super::machine::Machine;
use super::memory::Level;
use super::rounds::{Times, short};

/// Makes the profile.
pub(crate) fn of(measured: &Measured) -> NicProfile {
    let page = Page { measured, run: run(&measured.machine) };
    let cores = measured.machine.cores;
    NicProfile {
        name: "calibrated".to_owned(),
        title: format!(
            "{}, both sides of it, as `cargo cora calibrate` measured it",
            measured.machine.core
        ),
        nic: page.tier("NIC", &measured.nic, measured.nic_fit, 1),
        host: page.tier("host", &measured.host, measured.host_fit, cores.saturating_sub(1).max(1)),
        // Frames come through memory.
        port: None,
        link: page.link(&measured.crossings),
        flow_table: None,
    }
}

/// Where and when.
fn run(machine: &Machine) -> String {
    format!("cargo cora calibrate on {} ({} cores), {}", machine.core, machine.cores, machine.when)
}

struct Page<'a> {
    measured: &'a Measured,
    run: String,
}

impl Page<'_> {
    fn measured(&self, value: f64, how: &str) -> Figure {
        Figure::measured(short(value), format!("{}: {how}", self.run))
    }

    fn derived(value: f64, how: impl Into<String>) -> Figure {
        Figure { value: short(value), source: Source::Derived(how.into()) }
    }

    fn timed(&self, times: &Times, how: &str) -> Figure {
        self.measured(times.median(), &format!("{how}: {times}"))
    }

    fn tier(&self, side: &str, times: &SideTimes, fit: Fit, cores: usize) -> Tier {
        let Measured { frames, latencies, machine, .. } = self.measured;
        let (insert_ns, remove_ns) = self.entries(side, times, fit);
        Tier {
            core: machine.core.clone(),
            cores: Figure {
                value: cores as f64,
                source: Source::Derived(format!(
                    "{} cores of this machine, one of which stands for the NIC",
                    machine.cores
                )),
            },
            busy: Figure::assumed(1.0, "the whole core, so that ceilings can be measured"),
            instruction_ns: self.measured(fit.instruction_ns, &handled(side, times, fit)),
            mispredict_ns: self.timed(&self.measured.mispredict, MISPREDICT),
            packet_ns: self.measured(frames.packet_ns(fit.instruction_ns), &carried(frames)),
            byte_ns: self.measured(frames.byte_ns(), &carried(frames)),
            caches: latencies.levels.iter().map(|level| self.cache(level)).collect(),
            memory_ns: self.timed(
                &latencies.memory,
                &format!(
                    "dependent loads in {} MiB, but for those that a cache answers",
                    latencies.memory_bytes >> 20
                ),
            ),
            exposed: self.measured(fit.exposed, &handled(side, times, fit)),
            insert_ns,
            remove_ns,
            state_bytes: match machine.memory {
                Some(bytes) => {
                    let how = "half of the memory that is there to take (MemAvailable)";
                    self.measured((bytes / 2) as f64, how)
                }
                None => Figure::assumed(4.0 * f64::from(1 << 30), "the kernel does not tell it"),
            },
        }
    }

    /// Making an entry and freeing it: measured together, divided as the table's operations alone
    /// are.
    fn entries(&self, side: &str, times: &SideTimes, fit: Fit) -> (Figure, Figure) {
        let Measured { insert, remove, .. } = self.measured;
        let part = insert.median() / (insert.median() + remove.median()).max(f64::MIN_POSITIVE);
        let how = format!(
            "a packet of {CHURNED} flows that come and go at the {side}'s half, beyond its instructions and look-ups: \
             {}; divided as a table's insertions ({insert}) and removals ({remove}) alone",
            times.churn
        );
        (self.measured(fit.entry_ns * part, &how), self.measured(fit.entry_ns * (1.0 - part), &how))
    }

    fn cache(&self, level: &Level) -> Cache {
        let told = if level.told {
            "the kernel's cache/size, or as much of it as loads in half of it found"
        } else {
            "a step in latencies by working set"
        };
        let figure = |value: usize, how: &str| {
            Figure::measured(value as f64, format!("{}: {how}", self.run))
        };
        let walked = level.walked >> 10;
        Cache {
            bytes: figure(level.bytes, told),
            latency_ns: self.timed(
                &level.times,
                &format!(
                    "dependent loads in {walked} KiB, but for those that a nearer one answers"
                ),
            ),
            shared_by: if level.told {
                figure(level.shared_by, "the kernel's shared_cpu_list")
            } else {
                Figure::assumed(1.0, "the kernel does not tell who shares it")
            },
        }
    }

    fn link(&self, crossings: &Crossings) -> Link {
        let Crossings { nic, host, byte, owner, nic_move, host_move, moves, robbed } = crossings;
        let busiest = nic.median().max(host.median()).max(1.0);
        let copying = byte.median().max(1e-3);
        let moving = format!("{MOVING} ({} of 1,000 packets made one move)", short(*moves));
        // Who reads the profile should know that the machine was not its own.
        let disturbed = if *robbed > super::DISTURBED {
            format!(" (disturbed: other processes took {:.0} % of the time)", 100.0 * robbed)
        } else {
            String::new()
        };
        Link {
            nic_ns: self.timed(
                nic,
                &format!("packets that the NIC passes on unseen, beyond receiving{disturbed}"),
            ),
            host_ns: self.timed(
                host,
                &format!("packets from the ring and back, beyond the same without it{disturbed}"),
            ),
            byte_ns: self.measured(
                byte.median(),
                &format!("frames of 1,500 bytes against those of 60, mean of both sides: {byte}"),
            ),
            owner_ns: self.timed(owner, OWNER),
            owner_exposed: Figure::assumed(0.5, OWNER_EXPOSED),
            mpps: Self::derived(
                1e3 / busiest * pairs(self.measured.machine.cores),
                "no limit of its own: the most that all pairs of cores cross, doing nothing else",
            ),
            gbps: Self::derived(
                8.0 / copying * pairs(self.measured.machine.cores),
                "no limit of its own: the most that all pairs of cores copy",
            ),
            nic_move_ns: self.timed(nic_move, &moving),
            host_move_ns: self.timed(host_move, &moving),
            // Nothing measures it.
            fetch_ns: None,
        }
    }
}

const MISPREDICT: &str = "packets of 512 flows, TCP or UDP, drawn against by turns: the difference, of two branches that are wrong every other time";
const OWNER: &str =
    "packets under a split against those of the same fate without, mean of owned and passed on";
const OWNER_EXPOSED: &str =
    "not measured here: four lines are asked for ahead, and of each one's latency a share stays";
const MOVING: &str =
    "flows that end and begin under a plan that lets the NIC own all, beyond handling and crossing";

/// Pairs of a NIC's core and a host's.
fn pairs(cores: usize) -> f64 {
    (cores / 2).max(1) as f64
}

fn handled(side: &str, times: &SideTimes, fit: Fit) -> String {
    let steady: Vec<String> =
        times.steady.iter().map(|(flows, times)| format!("{flows} flows {times}")).collect();
    format!(
        "packets of 60 bytes in bursts of 32 through the {side}'s half of a program that counts by flow, by its \
         instructions and by the latency of two lines: {}; mean error of the fit {:.1} %",
        steady.join(", "),
        100.0 * fit.error
    )
}

fn carried(frames: &FrameTimes) -> String {
    format!(
        "frames received and sent in memory, handled by nobody: 60 bytes {}, 1,500 bytes {}",
        frames.short, frames.long
    )
}
