//! The kernel, the compiler, the emulator, processors and memory.

use std::path::PathBuf;
use std::process::Command;
use std::thread::available_parallelism;

use super::{Finding, State};

/// The first kernel that ends an XDP program with the process that attached it.
const KERNEL: (u32, u32) = (5, 9);
/// The target of the NIC half.
const TARGET: &str = "aarch64-unknown-none";
/// Both halves of each example fit into so much.
const COMFORTABLE: u64 = 2 << 30;
/// Processes of a live run that never sleep for long: supervisor, NIC half and host half.
const BUSY: usize = 3;

pub(super) fn look() -> Vec<Finding> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let processors = available_parallelism().map_or(1, usize::from);
    vec![
        kernel(release.trim()),
        compiler(),
        target(),
        emulator(),
        cores(processors),
        pages(&memory),
        room(cora_host::room()),
    ]
}

fn kernel(release: &str) -> Finding {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= KERNEL {
        return Finding::fine("kernel", release);
    }
    let found = if release.is_empty() { "no Linux" } else { release };
    let advice = "`xdp:` ports need Linux 5.9 or newer; `packet:` and `tap:` ports don't";
    Finding::lacks("kernel", found, State::Missing, advice)
}

fn compiler() -> Finding {
    match rustc(&["--version"]) {
        Some(version) => Finding::fine("rustc", version),
        None => Finding::lacks(
            "rustc",
            "does not start",
            State::Required,
            "install Rust: https://rustup.rs",
        ),
    }
}

fn target() -> Finding {
    let what = format!("target {TARGET}");
    let libraries = rustc(&["--print", "target-libdir", "--target", TARGET]).map(PathBuf::from);
    if libraries.is_some_and(|path| path.is_dir()) {
        return Finding::fine(what, "installed");
    }
    let advice = format!("rustup target add {TARGET}");
    Finding::lacks(what, "not installed: no NIC half can be built", State::Required, advice)
}

pub(super) fn rustc(words: &[&str]) -> Option<String> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn emulator() -> Finding {
    let named = std::env::var_os("CORA_QEMU").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|directory| directory.join("qemu-aarch64"));
    let found = named.into_iter().chain(in_path).find(|path| path.is_file());
    match found {
        Some(path) => Finding::fine("qemu-aarch64", path.display().to_string()),
        None => Finding::lacks(
            "qemu-aarch64",
            "not in PATH: `--nic emulated` can't be used",
            State::Missing,
            "apt-get install qemu-user, or set CORA_QEMU to its path",
        ),
    }
}

fn cores(processors: usize) -> Finding {
    let found = processors.to_string();
    if processors >= BUSY {
        return Finding::fine("processors", found);
    }
    let advice = "a live run has three busy processes: with fewer processors they take turns";
    Finding::lacks("processors", found, State::Few, advice)
}

fn pages(memory: &str) -> Finding {
    let value = |key: &str| {
        let line = memory.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let (total, free) = (value("HugePages_Total:"), value("HugePages_Free:"));
    match (total, free, value("Hugepagesize:")) {
        (Some(total), Some(free), Some(size)) if total > 0 => {
            Finding::fine("huge pages", format!("{free} of {total} free, {size} KiB each"))
        }
        _ => Finding::lacks(
            "huge pages",
            "none set aside: `--pages hugetlb` can't be used",
            State::Missing,
            "sysctl vm.nr_hugepages=512, as root",
        ),
    }
}

/// Memory left for a live run, which touches all of its full tables before the first packet.
fn room(room: Option<cora_host::Room>) -> Finding {
    let Some(cora_host::Room { bytes, said_by }) = room else {
        return Finding::fine("memory", "no limit is known");
    };
    let found = format!("{} MiB left, says {}", bytes >> 20, said_by.display());
    if bytes >= COMFORTABLE {
        return Finding::fine("memory", found);
    }
    let advice = "a live run needs the states of full tables twice, once in each half, and says how much when it \
                  begins: raise the limit, or lower a `capacity`";
    Finding::lacks("memory", found, State::Few, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_apart() {
        for (release, state) in [
            ("6.18.44-x", State::Fine),
            ("5.9.0", State::Fine),
            ("5.8.18", State::Missing),
            ("4.19", State::Missing),
            ("", State::Missing),
        ] {
            assert_eq!(kernel(release).state, state, "{release}");
        }
    }

    #[test]
    fn pages_and_processors_are_counted() {
        let some =
            "HugePages_Total:      16\nHugePages_Free:        9\nHugepagesize:       2048 kB\n";
        assert_eq!(pages(some).found, "9 of 16 free, 2048 KiB each");
        assert_eq!(pages("HugePages_Total: 0\n").state, State::Missing);
        assert_eq!((cores(2).state, cores(3).state), (State::Few, State::Fine));
    }
    #[test]
    fn little_memory_is_told_with_who_limits_it() {
        let left = |bytes| {
            room(Some(cora_host::Room { bytes, said_by: "/sys/fs/cgroup/memory.max".into() }))
        };
        let little = left(64 << 20);
        assert_eq!((little.state, little.json()["state"].as_str()), (State::Few, Some("missing")));
        assert_eq!(little.found, "64 MiB left, says /sys/fs/cgroup/memory.max");
        assert!(little.to_string().starts_with("few ") && little.advice.is_some());
        assert_eq!((left(8 << 30).state, room(None).state), (State::Fine, State::Fine));
    }
}
