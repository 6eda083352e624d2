//! Programs that demo, tests and benchmark need besides Rust's own tools, and their installation.

use std::path::{Path, PathBuf};

use crate::{cargo, command, output, run, target};

const TARGET: &str = "aarch64-unknown-none";

/// Linux on the NIC's machine, where the NIC half's instructions are counted, and the core's unit
/// tests run.
pub(crate) const LINUX_ON_NIC: &str = "aarch64-unknown-linux-musl";

/// Rust's half of the NIC side: the target's core library.
pub(crate) fn nic_target() -> Result<(), String> {
    rust_target(TARGET)
}

/// The emulator that runs a Linux program on the NIC's machine, and the target that builds one.
pub(crate) fn emulated_linux() -> Result<(), String> {
    if !in_path("qemu-aarch64") {
        install(&["qemu-user"])?;
    }
    rust_target(LINUX_ON_NIC)
}

/// Static programs of this machine, which an agent can run confined: the target that builds them.
const STATIC: (&str, &str) = if cfg!(target_arch = "aarch64") {
    (LINUX_ON_NIC, "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER")
} else {
    ("x86_64-unknown-linux-musl", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER")
};

/// Rust's target for static programs of this machine.
pub(crate) fn static_target() -> Result<(), String> {
    rust_target(STATIC.0)
}

/// Builds these packages as static programs; returns their directory.
pub(crate) fn static_programs(packages: &[&str]) -> Result<PathBuf, String> {
    static_target()?;
    let mut build = cargo(&["build", "--release", "--target", STATIC.0]);
    build.env(STATIC.1, "rust-lld").env("CORA_SKIP_NIC", "1");
    for package in packages {
        build.args(["--package", package]);
    }
    run(&mut build)?;
    Ok(target(STATIC.0).join("release"))
}

/// The emulator of the NIC's machine, if it is here; [`programs`] brings it.
pub(crate) fn emulator() -> Option<&'static str> {
    ["qemu-aarch64", "qemu-aarch64-static"].into_iter().find(|program| in_path(program))
}

fn rust_target(name: &str) -> Result<(), String> {
    let Some(installed) = output(command("rustup", &["target", "list", "--installed"])) else {
        eprintln!("rustup is not here; taking it that the target {name} is");
        return Ok(());
    };
    if installed.lines().any(|line| line.trim() == name) {
        return Ok(());
    }
    eprintln!("the Rust target {name} is missing; adding it");
    run(&mut command("rustup", &["target", "add", name]))
}

/// All that rust-toolchain.toml names: the toolchain may have been there before the file was.
pub(crate) fn toolchain() -> Result<(), String> {
    nic_target()?;
    rust_target(LINUX_ON_NIC)?;
    static_target()?;
    let Some(installed) = output(command("rustup", &["component", "list", "--installed"])) else {
        return Ok(());
    };
    let is_there = |component: &str| installed.lines().any(|line| line.starts_with(component));
    for component in ["clippy", "rustfmt", "rust-src"] {
        if !is_there(component) {
            eprintln!("Rust's {component} is missing; adding it");
            run(&mut command("rustup", &["component", "add", component]))?;
        }
    }
    Ok(())
}

/// qemu's user emulation, on which the NIC half runs, and the tool for real traffic; also what
/// counts instructions, where that is asked for.
pub(crate) fn programs(counts: bool) -> Result<(), String> {
    let has_qemu = emulator().is_some();
    let has_counter = !counts || in_path("valgrind");
    let needs = [("qemu-user", has_qemu), ("iproute2", in_path("ip")), ("valgrind", has_counter)];
    let packages: Vec<&str> =
        needs.iter().filter(|(_, is_there)| !is_there).map(|(package, _)| *package).collect();
    match install(&packages) {
        // Without `ip` there is generated traffic, without valgrind a test less; without qemu there
        // is no emulated NIC.
        Err(sentence) if has_qemu && !can_install() => {
            eprintln!("{sentence}");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Root, and the programs that talk in the lab, with those that steer the kernel in Cora's place.
pub(crate) fn lab() -> Result<(), String> {
    if !is_root() {
        return Err("the lab makes network namespaces: run it as root".to_owned());
    }
    let needs = [
        ("iproute2", "ip"),
        ("nftables", "nft"),
        ("conntrack", "conntrack"),
        ("iperf3", "iperf3"),
        ("traceroute", "traceroute"),
        ("curl", "curl"),
        ("dnsmasq-base", "dnsmasq"),
        ("tcpdump", "tcpdump"),
        ("iputils-ping", "ping"),
        ("memcached", "memcached"),
        ("libmemcached-tools", "memccapable"),
    ];
    let lacking = needs.iter().filter(|(_, program)| !in_path(program));
    install(&lacking.map(|(package, _)| *package).collect::<Vec<_>>())
}

/// Root, namespaces, and the kernel's rules; DPDK's testpmd with its driver for AF_XDP, or a row
/// less.
pub(crate) fn wires() -> Result<(), String> {
    if !is_root() {
        return Err("veth pairs in network namespaces are made for it: run it as root".to_owned());
    }
    let needs = [("iproute2", "ip"), ("nftables", "nft"), ("util-linux", "taskset")];
    let lacking = needs.iter().filter(|(_, program)| !in_path(program));
    install(&lacking.map(|(package, _)| *package).collect::<Vec<_>>())?;
    if !in_path("dpdk-testpmd")
        && let Err(why) = install(&["dpdk-dev", "librte-meta-net"])
    {
        eprintln!("{why} (rows of dpdk-testpmd lack)");
    }
    Ok(())
}

fn can_install() -> bool {
    is_root() && in_path("apt-get")
}

/// Installs packages of the distribution, or says which command does.
fn install(packages: &[&str]) -> Result<(), String> {
    if packages.is_empty() {
        return Ok(());
    }
    if !can_install() {
        let wanted = packages.join(" ");
        return Err(format!("not installed: {wanted}. Type: sudo apt-get install {wanted}"));
    }
    eprintln!("not installed: {}; installing", packages.join(" "));
    let patient = ["-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"];
    let apt = |words: &[&str]| {
        let mut apt = command("apt-get", &patient);
        // Standard output may be for figures.
        apt.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr());
        run(&mut apt)
    };
    apt(&["update"]).or_else(|_| apt(&["update"]))?;
    apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

/// What the benchmark can do without, but with rows less: DPDK, a peer, and what counts
/// instructions. Gives the version of DPDK.
pub(crate) fn peers() -> Option<String> {
    let version = || output(command("pkg-config", &["--modversion", "libdpdk"]));
    let needs = [
        ("pkg-config", in_path("pkg-config")),
        ("libdpdk-dev", version().is_some()),
        ("valgrind", in_path("valgrind")),
    ];
    let packages: Vec<&str> =
        needs.iter().filter(|(_, is_there)| !is_there).map(|(package, _)| *package).collect();
    if let Err(why) = install(&packages) {
        eprintln!("{why} (their rows lack)");
    }
    version().map(|version| version.trim().to_owned())
}

/// A nightly toolchain with Miri; rustup fetches it.
pub(crate) fn miri() -> Result<(), String> {
    let version = ["run", "nightly", "cargo", "miri", "--version"];
    let is_there = || output(command("rustup", &version)).is_some();
    if is_there() {
        return Ok(());
    }
    eprintln!("a nightly toolchain with Miri is missing; adding it");
    let install =
        "toolchain install nightly --profile minimal --component miri,rust-src --no-self-update";
    let install: Vec<&str> = install.split(' ').collect();
    run(&mut command("rustup", &install))?;
    if is_there() { Ok(()) } else { Err("rustup's nightly toolchain has no Miri".to_owned()) }
}

/// The checker of dependencies.
pub(crate) fn cargo_deny() -> Result<(), String> {
    cargo_command("deny")
}

/// The maker of packages for Debian.
pub(crate) fn cargo_deb() -> Result<(), String> {
    cargo_command("deb")
}

/// A command of Cargo's that a crate brings, built without optimisation: two minutes of a processor
/// instead of many, and its work is short.
fn cargo_command(name: &str) -> Result<(), String> {
    let is_there = || output(cargo(&[name, "--version"])).is_some();
    if is_there() {
        return Ok(());
    }
    eprintln!("cargo-{name} is missing; installing it");
    run(&mut cargo(&["install", &format!("cargo-{name}"), "--locked", "--debug"]))?;
    if is_there() {
        return Ok(());
    }
    Err(format!(
        "cargo-{name} is installed, and cargo doesn't find it: is cargo's bin directory in PATH?"
    ))
}

/// A C++ compiler, for libFuzzer.
pub(crate) fn cplusplus() -> Result<(), String> {
    let own = std::env::var("CXX").ok();
    match own.as_deref() {
        Some(own) if in_path(own) => Ok(()),
        Some(own) => Err(format!("CXX={own}: there is no such program in PATH")),
        None if in_path("c++") => Ok(()),
        None => install(&["g++"]),
    }
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
        || Path::new("/usr/sbin").join(program).is_file()
}

fn is_root() -> bool {
    output(command("id", &["-u"])).is_some_and(|user| user.trim() == "0")
}
