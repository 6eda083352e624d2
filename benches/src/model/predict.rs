//! The prediction of a case, from the program's graph and plan, the profile of this machine, the
//! traffic, and the instruction count of a packet.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

use cora_plan::demand::{Executed, Measurement, Route, SCHEMA};
use cora_plan::graph::{Does, Exit, Path as Way};
use cora_plan::model::{Allocation, Prediction, Steering, Unmatched};
use cora_plan::nic::NicProfile;
use cora_plan::optimise::{Inputs, predict};
use cora_plan::statement::Statement;
use cora_plan::traffic::Traffic;
use cora_plan::{Graph, PlanError, placement};

use super::calibrate::{OWNER, TERMS, put, unit};
use super::cases::{Case, EMPTY, NFS, Nf, Plan};
use super::frames::Capture;
use super::measure::Moment;
use super::popularity::Popularity;
use super::source::Source;
use super::traffic::profile;
use crate::count::Counter;

/// Flows and packets of the count. The skew of their popularity matters: a list of the heaviest
/// flows takes more instructions for its members, and no predictor knows these.
const FLOWS: u64 = 8_192;
const PACKETS: usize = 32_768;

/// The inputs of predictions, except the case.
pub(crate) struct Model {
    nic: NicProfile,
    programs: PathBuf,
    /// The working program's time of a packet during the fit.
    work_ns: f64,
    /// The host's cost of keeping flows per packet under a split, for which the model has no term.
    host_owner_ns: f64,
    /// The cost of a frame at the NIC's half and at the host's, if each receives frames of its own.
    doors: [f64; 2],
    /// Per program and popularity: the counts of a packet of an existing flow, at the NIC's half
    /// and at the host's.
    counts: BTreeMap<(&'static str, String), (Executed, Executed)>,
}

impl Model {
    /// Takes the counts of packets for every program and popularity of a case or of the
    /// calibration.
    pub(crate) fn new(
        nic: NicProfile,
        programs: &Path,
        source: &mut Source,
        cases: &[Case],
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let mut counts = BTreeMap::new();
        let seen = NFS.iter().filter(|nf| !nf.unseen).chain([&EMPTY]);
        let seen = seen.map(|nf| (nf, Popularity::Uniform));
        for (nf, skew) in seen.chain(cases.iter().map(|case| (case.nf, case.skew))) {
            let key = (nf.name, skew.name());
            if counts.contains_key(&key) {
                continue;
            }
            let (nic, host) = source.executed(nf, skew)?;
            let [name, skew] = [key.0, &key.1];
            tell(&format!(
                "{name}, {skew}: {:.0} instructions of a packet at the NIC, {:.0} at the host; {:.2} and {:.2} branches foretold \
                 wrongly",
                nic.instructions, host.instructions, nic.mispredictions, host.mispredictions
            ));
            counts.insert(key, (nic, host));
        }
        let programs = programs.to_owned();
        Ok(Self { nic, programs, work_ns: 0.0, host_owner_ns: 0.0, doors: [0.0; 2], counts })
    }

    /// Returns the counts of a packet, at the NIC's half and at the host's.
    pub(crate) fn executed(&self, nf: &Nf, skew: Popularity) -> (Executed, Executed) {
        self.counts.get(&(nf.name, skew.name())).copied().unwrap_or_default()
    }

    /// Returns the cost of a mispredicted branch.
    pub(crate) fn mispredict_ns(&self) -> f64 {
        self.nic.nic.mispredict_ns.value
    }

    /// Replaces measured parts by fitted ones; `doors` is the cost of a frame where each side has
    /// its own, and `work_ns` the working program's time during the fit.
    pub(crate) fn refine(
        &mut self,
        nic: [f64; TERMS],
        host: [f64; TERMS],
        doors: [f64; 2],
        work_ns: f64,
    ) {
        put(&mut self.nic, nic, host);
        self.work_ns = work_ns;
        self.doors = doors;
        self.host_owner_ns = host[OWNER];
    }

    /// Returns, per fitted coefficient, its number of occurrences in a packet at the NIC, and at
    /// the host.
    pub(crate) fn factors(
        &self,
        case: &Case,
        capture: &Capture,
    ) -> Result<([f64; TERMS], [f64; TERMS])> {
        let (mut nic, mut host) = ([0.0; TERMS], [0.0; TERMS]);
        let subject = self.subject(case, capture)?;
        for number in 0..TERMS {
            let said = subject.say(&unit(&self.nic, number));
            // At a million packets a second a thousandth of a core is a nanosecond of a packet.
            (nic[number], host[number]) = (said.nic_cores * 1e3, said.host_cores * 1e3);
        }
        if case.plan == Plan::Half {
            // For each packet that comes to the host.
            host[OWNER] = host[0];
        }
        Ok((nic, host))
    }

    /// Predicts a case, at each of some moments.
    pub(crate) fn predict(
        &self,
        case: &Case,
        capture: &Capture,
        moments: &[Moment],
    ) -> Result<Vec<Prediction>> {
        let subject = self.subject(case, capture)?;
        Ok(moments.iter().map(|moment| subject.say(&self.at(case, *moment))).collect())
    }

    /// Returns the profile of the machine at a moment.
    fn at(&self, case: &Case, Moment { crossing, work_ns }: Moment) -> NicProfile {
        let mut nic = self.nic.clone();
        if case.plan == Plan::Dealt {
            [nic.nic.packet_ns.value, nic.host.packet_ns.value] = self.doors;
        }
        for side in [&mut nic.nic, &mut nic.host] {
            side.packet_ns.value *= work_ns / self.work_ns;
            side.instruction_ns.value *= work_ns / self.work_ns;
            side.mispredict_ns.value *= work_ns / self.work_ns;
        }
        let (_, idle) = self.executed(&EMPTY, Popularity::Uniform);
        nic.link.nic_ns.value = (crossing.nic_ns - nic.nic.packet_ns.value).max(0.0);
        nic.link.host_ns.value = (crossing.host_ns - idle.ns(&nic.host)).max(0.0);
        if case.plan == Plan::Half {
            nic.host.packet_ns.value += self.host_owner_ns;
        }
        nic
    }

    fn subject(&self, case: &Case, capture: &Capture) -> Result<Subject> {
        let program = self.programs.join(Plan::Half.name()).join(case.nf.name);
        let graph = Graph::from_json(&told(&program, "graph")?).map_err(Error::other)?;
        let statement = case.plan.statement();
        let plan = placement::run(&graph, &statement).map_err(|errors| refused(case, &errors))?;
        let (traffic, shares) = profile(case, capture, &plan);
        let measurement = self.measurement(&graph, case, &traffic.name, shares.len());
        let allocation = Allocation {
            sides: plan.sides,
            places: plan.places.clone(),
            host_handlers: plan.host_handlers.clone(),
            group: plan.group.clone(),
            shares,
            unmatched: Unmatched::default(),
        };
        Ok(Subject { graph, traffic, measurement, statement, allocation })
    }

    /// Returns a measurement in which every packet takes the path of existing flows.
    fn measurement(
        &self,
        graph: &Graph,
        case: &Case,
        traffic: &str,
        classes: usize,
    ) -> Measurement {
        let (nic, host) = self.executed(case.nf, case.skew);
        let steps = graph.chain.iter().enumerate();
        let steps = steps.map(|(number, handler)| (number, steady(graph, &handler.paths)));
        Measurement {
            schema: SCHEMA,
            app: graph.app.clone(),
            graph: graph.digest(),
            capture: traffic.to_owned(),
            packets: classes as u64,
            routes: vec![Route { steps: steps.collect(), inside: false, nic, host }],
            counts: [("FiveTuple".to_owned(), vec![vec![1]; classes])].into(),
            nic_counted: true,
            host_counted: true,
        }
    }
}

/// A case, as the model takes it.
struct Subject {
    graph: Graph,
    traffic: Traffic,
    measurement: Measurement,
    statement: Statement,
    allocation: Allocation,
}

impl Subject {
    fn say(&self, nic: &NicProfile) -> Prediction {
        let inputs = Inputs {
            graph: &self.graph,
            nic,
            traffic: &self.traffic,
            measurement: Some(&self.measurement),
            statement: &self.statement,
            steering: Steering::Cores,
        };
        predict(&inputs, &self.allocation, 1.0)
    }
}

fn refused(case: &Case, errors: &[PlanError]) -> Error {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Error::other(format!("{}: {}", case.name(), errors.join("; ")))
}

/// Returns the path of a packet with an existing flow: the shortest one that reaches an entry,
/// makes none and lets it pass.
fn steady(graph: &Graph, ways: &[Way]) -> usize {
    let keyed = |state: &str| graph.state(state).is_some_and(|state| state.keyed.is_some());
    let is_steady = |way: &Way| {
        matches!(way.exit, Exit::Transmit | Exit::Unseen)
            && way.accesses.iter().any(|access| keyed(&access.state))
            && way.accesses.iter().all(|access| !matches!(access.does, Does::Insert | Does::Remove))
    };
    let steady = ways.iter().enumerate().filter(|(_, way)| is_steady(way));
    steady.min_by_key(|(_, way)| way.accesses.len()).map_or(0, |(number, _)| number)
}

/// Counts a packet in either half, which runs the whole program, in the way of `cargo cora
/// measure`.
pub(crate) fn count(
    programs: &Path,
    counter: &Path,
    nf: &Nf,
    skew: Popularity,
) -> Result<(Executed, Executed)> {
    let (machine, plugin) = (std::env::consts::ARCH, counter.to_owned());
    let counter = Counter::Qemu { machine, plugin };
    let capture = programs.join("count.pcap");
    let made = Capture::save(&capture, nf.feed, FLOWS, skew, PACKETS)?;
    let (warm, capture) = (made.warm.to_string(), capture.display().to_string());
    let half = |plan: Plan, half: &str| {
        let words = ["bench", "--half", half, "--warm", &warm, "--in", &capture];
        let room = programs.join(plan.name());
        counter.executed(&room, nf.name, &words, PACKETS)
    };
    std::thread::scope(|scope| {
        let nic = scope.spawn(|| half(Plan::NicOnly, "nic"));
        let host = half(Plan::HostOnly, "host")?;
        let nic = nic.join().map_err(|_| Error::other("counting at the NIC's half panicked"))??;
        Ok((nic, host))
    })
}

/// Returns the program's output about itself.
fn told(program: &Path, word: &str) -> Result<String> {
    let told = Command::new(program).arg(word).output()?;
    if told.status.success() {
        return Ok(String::from_utf8_lossy(&told.stdout).into_owned());
    }
    Err(Error::other(format!("{} {word}: {}", program.display(), told.status)))
}
