//! To test: a tenant that wants to harm its neighbours. Its client asks an agent to run this same
//! file, and orders a deed there by the memory of its own regions.
//!
//! ```text
//! attacker AGENT WAY ADDRESS:PORT [VICTIM:PORT CLIENT:PORT]
//! ```
//!
//! The client binds the UDP address, so it may be attached there, and prints the agent's answers.

mod client;
mod deeds;
mod memory;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("__confined") => {
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
            let (Some(file), Some(length)) = (number(2), number(3)) else {
                return ExitCode::FAILURE;
            };
            deeds::harm(file.cast_signed(), length as usize)
        }
        Some(_) => client::ask(&words),
        None => ExitCode::FAILURE,
    }
}
