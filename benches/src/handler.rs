//! What a packet costs before its handlers do anything: a chain of one handler that lets every packet pass,
//! above the same program's loop that receives and sends and does nothing between.

use std::path::Path;

use crate::count::Counter;
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

const PROGRAM: &str = "empty-chain";
const FLOWS: u64 = 1_000;
/// Packets of a turn.
const TURN: usize = 1 << 20;
/// Packets whose instructions are counted.
const COUNTED: usize = 10_000;
/// The most that is aimed at.
const NS: f64 = 6.0;
const INSTRUCTIONS: f64 = 40.0;

/// Measures its time and its instructions, in the program that stands in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let program = programs.join(PROGRAM);
    let traffic = Traffic::from_inside(FLOWS, Skew::Uniform, TURN);
    let capture = traffic.save(&programs.join("bench.pcap"))?;
    let mut chain = Program::start(&program, &capture, traffic.warm)?;
    let mut alone = Program::start_half(&program, "none", &capture, traffic.warm)?;
    let mut above = Vec::new();
    for _ in 0..if quick { 9 } else { 31 } {
        above.push(chain.turn()?.ns_per_packet() - alone.turn()?.ns_per_packet());
    }
    let above = Turns::new(above);
    let figure = Figure::of_limit("handler/empty chain".into(), above.median(), NS, "ns");
    tell(Figure { spread: above.spread(), ..figure });
    if let Err(why) = Counter::Callgrind.works(programs) {
        eprintln!(
            "handler/empty chain, instructions left out: {why}. Type: apt-get install valgrind"
        );
        return Ok(());
    }
    let traffic = Traffic::from_inside(COUNTED as u64, Skew::Uniform, 0);
    let capture = traffic.save(&programs.join("counted.pcap"))?;
    let capture = capture.display().to_string();
    let count = |half| {
        let words = ["bench", "--half", half, "--in", &capture];
        Counter::Callgrind.per_packet(programs, PROGRAM, &words, COUNTED)
    };
    let above = count("host")? - count("none")?;
    let name = "handler/empty chain, instructions".into();
    tell(Figure::of_limit(name, above, INSTRUCTIONS, "instr"));
    Ok(())
}
