//! `cargo cora`: make a network function, run it, look at it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cargo_cora::main()
}
