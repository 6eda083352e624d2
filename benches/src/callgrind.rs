//! Instructions, counted by valgrind's callgrind: a count does not depend on what else the machine does.

use std::io::{Error, Result, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether there is something to count with.
pub(crate) fn is_here() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Instructions per packet that a half of a program takes on a capture of so many: the difference between
/// three passes and one, so that loading and ending cancel out.
pub(crate) fn per_packet(
    program: &Path,
    half: &str,
    capture: &Path,
    packets: usize,
) -> Result<f64> {
    let [one, three] = [1, 3].map(|passes| instructions(program, half, capture, passes));
    Ok((three? - one?) / (2 * packets) as f64)
}

fn instructions(program: &Path, half: &str, capture: &Path, passes: usize) -> Result<f64> {
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["bench", "--half", half, "--in"])
        .arg(capture)
        // The allocator's huge pages are the other figures' affair.
        .env_remove("GLIBC_TUNABLES")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all("\n".repeat(passes).as_bytes())?;
    }
    let ended = child.wait_with_output()?;
    let told = String::from_utf8_lossy(&ended.stderr);
    let count =
        told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    count.filter(|_| ended.status.success()).ok_or_else(|| Error::other(told.into_owned()))
}
