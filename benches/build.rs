//! Looks for DPDK, the peer that is no crate. Where `pkg-config` knows it, the small part of it
//! that consists of inline C functions is compiled, and `cfg(dpdk)` says so; elsewhere its rows
//! lack.

use std::env::var;
use std::path::Path;
use std::process::Command;

const SHIM: &str = "src/dpdk/shim.c";

/// The libraries that the rows use, of some hundred.
const LIBRARIES: [&str; 3] = ["rte_hash", "rte_ring", "rte_eal"];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(dpdk)");
    println!("cargo:rerun-if-changed={SHIM}");
    // `cargo xtask bench` says here which version it found, so that one installed later is seen.
    for variable in ["CORA_BENCH_DPDK", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    // What pkg-config says is about this machine.
    if var("HOST") != var("TARGET") {
        return;
    }
    let Some(flags) = pkg_config("--cflags") else { return };
    let Some(places) = pkg_config("--libs-only-L") else { return };
    if let Err(error) = compile(&flags) {
        println!("cargo:warning=DPDK is here, but not usable: {error}");
        return;
    }
    for place in places.split_whitespace().filter_map(|flag| flag.strip_prefix("-L")) {
        println!("cargo:rustc-link-search=native={place}");
    }
    for library in LIBRARIES {
        println!("cargo:rustc-link-lib={library}");
    }
    println!("cargo:rustc-cfg=dpdk");
}

fn pkg_config(what: &str) -> Option<String> {
    let output = Command::new("pkg-config").args([what, "libdpdk"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// With DPDK's own flags, as its documentation asks for: they name the processor that it was built
/// for.
fn compile(flags: &str) -> Result<(), cc::Error> {
    let mut shim = cc::Build::new();
    shim.file(Path::new(SHIM)).warnings(false).opt_level(3).cargo_warnings(false);
    for flag in flags.split_whitespace() {
        shim.flag(flag);
    }
    shim.try_compile("cora_bench_dpdk")
}
