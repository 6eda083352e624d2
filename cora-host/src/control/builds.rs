//! The builds of programs in other files: what a card and its host must have in common.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cora_core::app::App;
use cora_link::mirror::Build;
use serde::{Deserialize, Serialize};

use crate::control::beside::{self, Limits};

/// The argument that makes a program print its build.
pub(crate) const BUILD_COMMAND: &str = "__build";

/// Limits for that.
const LIMITS: Limits = Limits { time: Duration::from_secs(5), bytes: 1 << 16 };

/// A build, as printed.
#[derive(Debug, Serialize, Deserialize)]
struct Printed {
    layout: u64,
    /// As in reports: hexadecimal.
    plan: String,
}

/// This program's build, as JSON.
pub(crate) fn own_build<A: App>() -> String {
    let Build { layout, plan } = Build::of_plan(A::PLAN.hash);
    serde_json::to_string(&Printed { layout, plan: format!("{plan:016x}") }).unwrap_or_default()
}

/// The build of the program in this file; the error is a sentence.
pub(crate) fn build_of(program: &Path) -> Result<Build, String> {
    let shown = program.display();
    let mut command = Command::new(program);
    command.arg(BUILD_COMMAND).stdin(Stdio::null());
    let told = beside::run(command, LIMITS).map_err(|why| format!("{shown}: {why}"))?;
    read(&told.stdout).ok_or_else(|| format!("{shown} is not a program of Cora that a card serves"))
}

fn read(printed: &[u8]) -> Option<Build> {
    let Printed { layout, plan } = serde_json::from_slice(printed).ok()?;
    Some(Build { layout, plan: u64::from_str_radix(&plan, 16).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_read_as_it_is_printed() {
        let printed = br#"{"layout":4,"plan":"00000000000000ff"}"#;
        assert_eq!(read(printed), Some(Build { layout: 4, plan: 255 }));
        for wrong in ["", "{}", r#"{"layout":4,"plan":"x"}"#] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
