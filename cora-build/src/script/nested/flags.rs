//! Compiler flags of the second cargo besides the profile: unaligned accesses, and an optimisation
//! level without aggressive unrolling.
//!
//! The NIC's target is for any bare machine, including one without an MMU, where unaligned accesses
//! fault. So a field of a packet is read byte by byte. The NIC half is a Linux process, and its
//! memory supports unaligned accesses; with them its code is an eighth smaller. The feature's name
//! is unstable, so the flag is only passed if the compiler accepts it.

use std::env;
use std::process::{Command, Stdio};

const UNALIGNED: &str = "-Ctarget-feature=-strict-align";

/// Cargo's variable for flags of the NIC's target.
const FLAGS: &str = "CARGO_TARGET_AARCH64_UNKNOWN_NONE_RUSTFLAGS";

/// Additional variables for the environment of the second cargo.
pub(super) fn variables(target: &str) -> Option<(String, String)> {
    let flags = || (FLAGS.to_owned(), with(env::var(FLAGS).ok(), UNALIGNED));
    takes(target, UNALIGNED).then(flags)
}

/// Lowers the profile's optimisation level from 3 to 2. A core of the NIC shares its caches with
/// the entries of flows, and level 2 makes the code a fifteenth smaller. Other levels are the
/// user's choice.
pub(super) fn smaller(profile: &str, level: Option<&str>) -> Vec<String> {
    // Cargo's name for this profile.
    let profile = if profile == "debug" { "dev" } else { profile };
    match level {
        Some("3") => vec!["--config".to_owned(), format!("profile.{profile}.opt-level=2")],
        _ => Vec::new(),
    }
}

/// Whether the compiler accepts the flag.
fn takes(target: &str, flag: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut asked = Command::new(rustc);
    asked.args(["--print", "cfg", "--target", target, flag]);
    asked.stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// The user's flags, and one more.
fn with(before: Option<String>, flag: &str) -> String {
    before.map_or_else(|| flag.to_owned(), |before| format!("{before} {flag}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_set_stays() {
        assert_eq!(with(None, "-Cb"), "-Cb");
        assert_eq!(with(Some("-Ca".into()), "-Cb"), "-Ca -Cb");
    }

    #[test]
    fn only_the_highest_level_is_lowered() {
        let config = ["--config", "profile.checked.opt-level=2"];
        assert_eq!(smaller("checked", Some("3")), config);
        assert!(smaller("release", Some("s")).is_empty() && smaller("dev", Some("0")).is_empty());
    }

    #[test]
    fn a_flag_that_no_compiler_has_is_left_out() {
        assert!(!takes("x86_64-unknown-linux-gnu", "-Cno-such-flag"));
        assert!(takes("x86_64-unknown-linux-gnu", "-Copt-level=1"));
    }
}
