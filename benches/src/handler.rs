//! What a packet costs before its handlers do anything: a chain of one handler that lets every
//! packet pass, above the same program's loop that receives and sends and does nothing between.
//! Where no handler names packets, they are not parsed: so there are two, one that is empty, and
//! one that names its packets and is empty otherwise.

use std::path::Path;

use crate::count::Counter;
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

/// A program, and what is aimed at.
struct Chain {
    name: &'static str,
    program: &'static str,
    /// How near to the limits it should come; 0 where it is measured to be known.
    goal: f64,
}

const CHAINS: [Chain; 2] = [
    Chain { name: "empty chain", program: "empty-chain", goal: 1.0 },
    Chain { name: "parsed chain", program: "parsed-chain", goal: 0.0 },
];
const FLOWS: u64 = 1_000;
/// Packets of a turn.
const TURN: usize = 1 << 20;
/// Packets whose instructions are counted.
const COUNTED: usize = 10_000;
/// The most that is aimed at.
const NS: f64 = 6.0;
const INSTRUCTIONS: f64 = 40.0;

/// Measures the time and the instructions of both, in the programs that stand in `programs`.
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
