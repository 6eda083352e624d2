//! The cost of a packet before its handlers do anything: a chain of one handler that lets every
//! packet pass, minus the same program's loop that only receives and sends. Packets are parsed only
//! if a handler names them. So there are two chains: an empty one, and one that names its packets
//! and is otherwise empty.

use std::path::Path;

use crate::count::Counter;
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

/// A program, and its goal.
struct Chain {
    name: &'static str,
    program: &'static str,
    /// Required part of the limits; 0 for a figure without a goal.
    goal: f64,
}

const CHAINS: [Chain; 2] = [
    Chain { name: "empty chain", program: "empty-chain", goal: 1.0 },
    Chain { name: "parsed chain", program: "parsed-chain", goal: 0.0 },
];
const FLOWS: u64 = 1_000;
/// Packets of a turn.
const TURN: usize = 1 << 20;
/// Packets in a count of instructions.
const COUNTED: usize = 10_000;
/// The upper limits.
const NS: f64 = 6.0;
const INSTRUCTIONS: f64 = 40.0;

/// Measures the time and the instructions of both programs in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let traffic = Traffic::from_inside(FLOWS, Skew::Uniform, TURN);
    let capture = traffic.save(&programs.join("bench.pcap"))?;
    for chain in &CHAINS {
        tell(chain.time(programs, &capture, traffic.warm, quick)?);
    }
    if let Err(why) = Counter::Callgrind.works(programs) {
        eprintln!("handler/*, instructions left out: {why}. Type: apt-get install valgrind");
        return Ok(());
    }
    let traffic = Traffic::from_inside(COUNTED as u64, Skew::Uniform, 0);
    let capture = traffic.save(&programs.join("counted.pcap"))?;
    for chain in &CHAINS {
        tell(chain.instructions(programs, &capture)?);
    }
    Ok(())
}

impl Chain {
    fn time(
        &self,
        programs: &Path,
        capture: &Path,
        warm: usize,
        quick: bool,
    ) -> std::io::Result<Figure> {
        let program = programs.join(self.program);
        let mut chain = Program::start(&program, capture, warm)?;
        let mut alone = Program::start_half(&program, "none", capture, warm)?;
        let mut above = Vec::new();
        for _ in 0..if quick { 5 } else { 31 } {
            above.push(chain.turn()?.ns_per_packet() - alone.turn()?.ns_per_packet());
        }
        let above = Turns::new(above);
        let figure = Figure::of_limit(format!("handler/{}", self.name), above.median(), NS, "ns");
        Ok(Figure { spread: above.spread(), goal: self.goal, ..figure })
    }

    fn instructions(&self, programs: &Path, capture: &Path) -> std::io::Result<Figure> {
        let capture = capture.display().to_string();
        let count = |half| {
            let words = ["bench", "--half", half, "--in", &capture];
            Counter::Callgrind.per_packet(programs, self.program, &words, COUNTED)
        };
        let above = count("host")? - count("none")?;
        let name = format!("handler/{}, instructions", self.name);
        Ok(Figure { goal: self.goal, ..Figure::of_limit(name, above, INSTRUCTIONS, "instr") })
    }
}
