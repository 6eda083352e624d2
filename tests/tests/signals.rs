//! Signals to a program with states that are too large for the kernel's stack: it runs in a thread
//! with enough stack, and another thread waits for it. The kernel may signal either thread: a live
//! run obeys, and a run on a capture ends as any command does.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cora_tests::control::ask;
use cora_tests::process::{Ended, Running, children, send, start, wait_until};
use cora_tests::tell;
use cora_tests::workshop::{program, room};
use rustix::process::Signal;
use serde_json::Value;

/// Upper bound on the end of a run and on an answer, on a busy machine too: halves have half of it
/// to end.
const LIMIT: Duration = Duration::from_mins(1);
const MEMORY: &str = "inside=mem:flows=50;size=60,outside=mem:flows=5;size=60";

/// Programs with a state of half a megabyte or more.
const LARGE: [&str; 2] = ["nat", "carrier-nat"];

/// Returns the status of the run at this socket.
fn status(socket: &Path) -> Option<Value> {
    ask(socket, "status")
}

/// Starts the program between these ports by `shell`, waits until both halves work, calls `does`,
/// sends the signal, and returns the end.
fn ended_by(
    signal: Signal,
    name: &str,
    ports: &str,
    shell: &str,
    does: impl FnOnce(&Running, &Path),
) -> Ended {
    // Tests run in parallel.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let socket = room(&format!("signals-{number}")).join("socket");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]).arg(program(name));
    command.args(["run", "--json", "--live", ports, "--control"]).arg(&socket);
    let run = start(&mut command);
    let works = || status(&socket).is_some_and(|status| status["works"] == true);
    assert!(wait_until(LIMIT, works), "{name}: {:?}", status(&socket));
    does(&run, &socket);
    send(run.id(), signal);
    run.end(LIMIT)
}

#[test]
fn a_live_run_with_a_large_state_ends_in_good_order() {
    for name in LARGE {
        for signal in [Signal::INT, Signal::TERM] {
            // A shell ignores these signals for its background processes.
            for shell in ["", "trap '' INT TERM;"] {
                let ended = ended_by(signal, name, MEMORY, shell, |_, _| {});
                let ended = ended.well(&format!("{name}, {signal:?}, {shell}"));
                assert!(ended.json()["packets_in"].as_u64() > Some(0), "{}", ended.stdout);
            }
        }
    }
}

#[test]
fn it_reads_its_configuration_again_and_is_replaced() {
    if !Path::new("/dev/net/tun").exists() || !rustix::process::geteuid().is_root() {
        return tell("SKIPPED signals: TAP interfaces need root and /dev/net/tun");
    }
    let own = std::process::id() % 1_000_000;
    let ports = format!("inside=tap:si{own},outside=tap:so{own}");
    let ended = ended_by(Signal::INT, "nat", &ports, "", |run, socket| {
        send(run.id(), Signal::USR1);
        send(run.id(), Signal::HUP);
        let replaced =
            || status(socket).is_some_and(|told| told["upgrades"] == 1 && told["works"] == true);
        assert!(wait_until(LIMIT, replaced), "{:?}", status(socket));
    });
    // Its replacement hears them, too.
    assert_eq!(ended.well("nat").json()["upgrades"], 1);
}

#[test]
fn a_run_on_a_capture_ends_as_any_command() {
    // A shell that runs the tests in the background makes their children ignore SIGINT.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(program("nat"));
    command.args(["run", "--json", "--nic", "native", "--in", "/dev/stdin"]);
    let mut run = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // A capture with a header, frames, and no end; the run derives its seed from the first frame.
    let header: [u16; 12] = [0xc3d4, 0xa1b2, 2, 4, 0, 0, 0, 0, u16::MAX, 0, 1, 0];
    let mut capture = run.stdin.take().unwrap();
    capture.write_all(&header.map(u16::to_le_bytes).concat()).unwrap();
    let record: [u32; 4] = [0, 0, 60, 60];
    let record = [record.map(u32::to_le_bytes).concat(), vec![0; 60]].concat();
    capture.write_all(&record.repeat(800)).unwrap();
    assert!(wait_until(LIMIT, || !children(run.id()).is_empty()), "it has no NIC");
    send(run.id(), Signal::INT);
    let mut status = None;
    wait_until(LIMIT, || {
        status = run.try_wait().unwrap();
        status.is_some()
    });
    let _ended = run.kill();
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::INT.as_raw()));
}
