//! Which steps there are, and which run beside each other.
//!
//! A phase begins when the one before has ended. Its lanes run beside each other: compiling,
//! linking and single threads leave a core idle now and then, and lanes fill that. Steps of one
//! lane share a target directory; those of different lanes don't wait for each other's lock. Tests
//! that go by the clock (live runs, kills) run in a phase of their own.

use super::unchanged::Inputs;
use super::{Verdict, steps};

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    /// In every run.
    Quick,
    /// Before an issue is resolved.
    All,
}

impl Tier {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::All => "all",
        }
    }
}

/// A step.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) tier: Tier,
    /// The property that it checks, in a line.
    pub(super) checks: &'static str,
    /// The files that decide how it ends.
    pub(super) inputs: Inputs,
    pub(super) run: fn() -> Verdict,
}

impl Step {
    const fn reads(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }
}

const fn quick(name: &'static str, checks: &'static str, run: fn() -> Verdict) -> Step {
    Step { name, tier: Tier::Quick, checks, inputs: Inputs::Any, run }
}

const fn long(name: &'static str, checks: &'static str, run: fn() -> Verdict) -> Step {
    Step { name, tier: Tier::All, checks, inputs: Inputs::Any, run }
}

/// The two depend on no other crate of the workspace: a test of the structure holds that.
const CORE: Inputs = Inputs::Only(&["cora-core", "cora-runtime"]);

/// The tests of the libraries use the programs in `tests/programs`, none of the examples. Of the
/// pages they read those in `docs`.
const LIBRARIES: Inputs =
    Inputs::Besides(&["examples", "README.md", "ARCHITECTURE.md", "CHANGELOG.md"]);

/// Phases of lanes of steps.
pub(super) const PHASES: &[&[&[Step]]] = &[
    &[&[
        quick(
            "machine",
            "targets, emulator, valgrind and Miri are here or get installed",
            steps::machine,
        ),
        quick("format", "every file is formatted", steps::format),
        quick("words", "comments, messages and pages keep the goals of the language", steps::words),
        quick("arrows", "no circle of crates, and no new arrow on one of folders", steps::arrows),
    ]],
    &[
        &[
            quick("build", "all tests compile", steps::build),
            quick(
                "sizes",
                "all programs build; NIC halves are static, small, without panics and LSE",
                steps::sizes,
            ),
        ],
        &[
            quick("loom", "ring and bell under every order of memory accesses", steps::loom)
                .reads(CORE),
            quick("miri", "the unsafe code of ring, region and memory, interpreted", steps::miri)
                .reads(CORE),
        ],
    ],
    &[
        &[
            quick("clippy", "no lint fires, in the host's code and in all tests", steps::clippy),
            quick(
                "clippy-nic",
                "no lint fires, in the code that is built for the NIC",
                steps::clippy_nic,
            ),
            quick(
                "docs",
                "the reference builds, and its links lead somewhere",
                steps::documentation,
            ),
            quick(
                "units",
                "units and properties of the libraries, examples of the reference",
                steps::units,
            )
            .reads(LIBRARIES),
            quick(
                "diagnostics",
                "the compiler's words for each fault of a program",
                steps::diagnostics,
            )
            .reads(LIBRARIES),
        ],
        &[quick(
            "instructions",
            "no packet costs more instructions than it did",
            steps::instructions,
        )],
    ],
    &[&[quick(
        "tests",
        "commands, pages, goldens; the oracle for every program: host alone, native, emulated, moves by chance",
        steps::tests,
    )]],
    &[&[
        long(
            "core-on-nic",
            "the core's units by the NIC's instructions, emulated",
            steps::core_on_the_nic,
        )
        .reads(CORE),
        long(
            "oracle",
            "every plan, a million packets and ten thousand moves for each program",
            steps::oracle,
        ),
        long(
            "long-tests",
            "kills, the lab, measuring, instructions beside loops by hand, a new package",
            steps::long_tests,
        ),
        long(
            "calibration",
            "a calibration writes a profile, and its program takes as many instructions as it believes",
            steps::calibration,
        ),
        long(
            "chaos",
            "both halves and the controller in one process: all schedules of messages; faults and kills, for two minutes; handovers of buckets",
            steps::chaos,
        ),
        long("miri-all", "the core and the simulator, interpreted", steps::miri_all),
        long("fuzz", "the fuzz targets build", steps::fuzz),
        long("dependencies", "licences, bans, sources and advisories", steps::dependencies),
    ]],
];

/// All of them, in their order.
pub(super) fn steps() -> impl Iterator<Item = &'static Step> {
    PHASES.iter().flat_map(|lanes| lanes.iter()).flat_map(|lane| lane.iter())
}
