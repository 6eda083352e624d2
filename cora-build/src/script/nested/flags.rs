//! What the second cargo compiles with, beyond the profile: unaligned accesses, and a level of
//! optimisation that does not unfold code for its own sake.
//!
//! The NIC's target is made for any bare machine, also for one without an MMU, and there takes no
//! access that is not aligned: a field of a packet is read byte by byte. The NIC half is a process
//! of Linux, whose memory takes such accesses; with them its code is an eighth smaller. The name of
//! the feature is not stable, so the compiler is asked first whether it takes it, and one that does
//! not is not told.

use std::env;
use std::process::{Command, Stdio};

const UNALIGNED: &str = "-Ctarget-feature=-strict-align";

/// Cargo's variable for flags of the NIC's target.
const FLAGS: &str = "CARGO_TARGET_AARCH64_UNKNOWN_NONE_RUSTFLAGS";

/// What the environment of the second cargo has more than that of this build script.
pub(super) fn variables(target: &str) -> Option<(String, String)> {
    let flags = || (FLAGS.to_owned(), with(env::var(FLAGS).ok(), UNALIGNED));
    takes(target, UNALIGNED).then(flags)
}

/// What is asked of the profile: level 2 in place of 3. A core of the card shares its caches with
/// the entries of flows, and the same code is a fifteenth smaller so; other levels are what
/// somebody chose.
pub(super) fn smaller(profile: &str, level: Option<&str>) -> Vec<String> {
    // Cargo's name for its own profile of that kind.
    let profile = if profile == "debug" { "dev" } else { profile };
    match level {
        Some("3") => vec!["--config".to_owned(), format!("profile.{profile}.opt-level=2")],
        _ => Vec::new(),
    }
}

/// Whether the compiler takes the flag.
fn takes(target: &str, flag: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut asked = Command::new(rustc);
    asked.args(["--print", "cfg", "--target", target, flag]);
    asked.stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Flags that the user set, and one more.
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
