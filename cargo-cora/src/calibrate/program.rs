//! The program that calibrating measures: a small network function of this command, which counts
//! packets by flow.
//!
//! It is built into the command, as a build script and macros would make it of the source below,
//! and runs as any program's `bench` does, in processes of its own. So the measured code is the
//! code that runs.
//!
//! ```text
//! #[state(key = FiveTuple, reply, capacity = 1_048_576, idle = "5m")]
//! struct Flow { packets: u64, bytes: u64 }
//!
//! #[flow_handler]
//! fn count(packet: &mut Packet, flows: &mut Table<Flow>) -> Verdict { … }
//! ```

use std::ffi::OsString;
use std::marker::PhantomData;
use std::process::ExitCode;

use cora_core::app::{App, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Packet, TcpFlags};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Place, Reach, Table, reaches};
use cora_core::verdict::{Stop, Transmit, Verdict};

/// Flows in the largest table.
pub(crate) const CAPACITY: u32 = 1 << 20;

/// Plans that it runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plan {
    /// The NIC passes every packet on, unseen.
    HostOnly,
    /// The NIC handles every packet.
    NicOnly,
    /// The NIC may own every flow.
    SplitAll,
    /// The NIC may own none, and looks for each.
    SplitNone,
}

impl Plan {
    const ALL: [Self; 4] = [Self::HostOnly, Self::NicOnly, Self::SplitAll, Self::SplitNone];

    /// The word that stands for it on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::NicOnly => "nic-only",
            Self::SplitAll => "split-all",
            Self::SplitNone => "split-none",
        }
    }

    const fn sides(self) -> Sides {
        match self {
            Self::HostOnly => Sides::HostOnly,
            Self::NicOnly => Sides::NicOnly,
            Self::SplitAll | Self::SplitNone => Sides::Split,
        }
    }

    const fn facts(self) -> PlanFacts {
        PlanFacts {
            name: "calibration",
            hash: self as u64,
            nic_share: if matches!(self, Self::SplitAll) { 1024 } else { 0 },
            ..PlanFacts::by_hand(self.sides())
        }
    }

    /// The place of the flows.
    const fn place(self) -> Place {
        if matches!(self, Self::HostOnly) { Place::Host } else { Place::Travels }
    }
}

/// The `main` of the program: the first argument is its plan, the rest are those of any program.
pub(crate) fn main(arguments: &[OsString]) -> ExitCode {
    let plan = arguments.first().and_then(|word| word.to_str());
    let plan = plan.and_then(|word| Plan::ALL.into_iter().find(|plan| plan.word() == word));
    let rest = arguments.iter().skip(1).cloned();
    let arguments: Vec<OsString> = std::iter::once("calibration".into()).chain(rest).collect();
    match plan {
        Some(Plan::HostOnly) => start::<HostOnly>(arguments),
        Some(Plan::NicOnly) => start::<NicOnly>(arguments),
        Some(Plan::SplitAll) => start::<SplitAll>(arguments),
        Some(Plan::SplitNone) => start::<SplitNone>(arguments),
        None => ExitCode::from(2),
    }
}

fn start<P: Planned>(arguments: Vec<OsString>) -> ExitCode {
    let program = cora_host::Program {
        nic_image: None,
        // Only `run` starts a NIC process, and nobody runs this.
        native_nic: |_| 1,
        native_halves: None,
        graph_json: "{}",
        plan_json: "{}",
    };
    cora_measure::main_with::<Calibration<P>>(program, arguments)
}

/// A plan as a type.
trait Planned: Send + 'static {
    const PLAN: Plan;
}

macro_rules! planned {
    ($($name:ident)*) => {$(
        struct $name;
        impl Planned for $name {
            const PLAN: Plan = Plan::$name;
        }
    )*};
}

planned!(HostOnly NicOnly SplitAll SplitNone);

/// A flow: with its key, a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Flow {
    packets: u64,
    bytes: u64,
}

impl Plain for Flow {
    const SIZE: usize = 16;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.packets.put(out);
        self.bytes.put(&mut out[8..]);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { packets: u64::get(bytes)?, bytes: u64::get(bytes.get(8..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("packets");
        self.packets.describe(to);
        to.field("bytes");
        self.bytes.describe(to);
        to.close();
    }
}

impl Keyed for Flow {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Flow";
    const CAPACITY: u32 = CAPACITY;
    const IDLE: u64 = 300_000_000_000;
    const REPLY: bool = true;
}

/// Counts; a segment that resets its connection ends the flow.
#[inline(always)]
fn count<R: Reach>(packet: &mut Packet<'_>, flows: &mut Table<Flow>) -> Verdict {
    let key = packet.five_tuple()?;
    let bytes = packet.len() as u64;
    if const { !reaches::<R, Table<Flow>>() } {
        return Err(Stop::punt());
    }
    if packet.tcp_flags().is_some_and(TcpFlags::rst) {
        flows.remove(&key);
        return Transmit;
    }
    match flows.find_mut(&key) {
        Some((_, flow)) => {
            flow.packets += 1;
            flow.bytes += bytes;
        }
        None => flows.insert(key, Flow { packets: 1, bytes })?,
    }
    Transmit
}

struct Calibration<P> {
    flows: Table<Flow>,
    plan: PhantomData<P>,
}

by_hand!([P: Planned] Calibration<P>, by FiveTuple, {
    P::PLAN.place() => flows: Table<Flow>,
} and { plan: PhantomData });

impl<P: Planned> App for Calibration<P> {
    const NAME: &'static str = "calibration";
    const PLAN: PlanFacts = P::PLAN.facts();

    #[inline(always)]
    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        count::<R>(packet, &mut self.flows)
    }
}
