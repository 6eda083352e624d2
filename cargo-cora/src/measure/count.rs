//! Counting instructions under QEMU's user emulation, with the plugin of Cora's `benches/counter`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cora_plan::demand::counted::Marks;

use super::programs::Programs;
use super::traffic_words;
use crate::arguments::Measure;
use crate::package;

/// Packets between two marks where they are in bursts: as many as the runtimes take at a time.
const BURST: usize = 32;

/// The plugin.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    plugin: PathBuf,
}

/// Counts of the same packets, twice.
pub(super) struct Twice {
    pub(super) alone: Marks,
    pub(super) bursts: Marks,
}

impl Counter {
    /// The file that was named, or the plugin as it is built from the Cora that the package depends
    /// on.
    pub(super) fn find(programs: &Programs<'_>, arguments: &Measure) -> Result<Self, String> {
        if let Some(plugin) = &arguments.counter {
            return match plugin.canonicalize() {
                Ok(plugin) => Ok(Self { plugin }),
                Err(error) => Err(format!("the counter `{}`: {error}", plugin.display())),
            };
        }
        let cora = programs.package().cora().map_err(|failure| failure.to_string())?;
        let manifest = cora.map(|cora| cora.join("benches/counter/Cargo.toml"));
        let manifest = manifest.filter(|manifest| manifest.is_file()).ok_or(
            "the plugin that counts is in Cora's repository, and this Cora is not from there: \
             build `benches/counter`, and name its file with --counter",
        )?;
        let room = programs.room();
        let built = package::cargo()
            .args(["build", "--quiet", "--release", "--manifest-path"])
            .arg(&manifest)
            .arg("--target-dir")
            .arg(room)
            .status();
        match built {
            Ok(status) if status.success() => {
                Ok(Self { plugin: room.join("release/libcora_counter.so") })
            }
            _ => Err("the plugin that counts does not build".to_owned()),
        }
    }

    /// Counts the first packets of the capture, alone and in bursts.
    pub(super) fn count(
        &self,
        program: &Path,
        half: &str,
        machine: &str,
        programs: &Programs<'_>,
        arguments: &Measure,
    ) -> Result<Twice, String> {
        let count = |burst| self.marks(program, half, machine, burst, programs.room(), arguments);
        Ok(Twice { alone: count(1)?, bursts: count(BURST)? })
    }

    fn marks(
        &self,
        program: &Path,
        half: &str,
        machine: &str,
        burst: usize,
        room: &Path,
        arguments: &Measure,
    ) -> Result<Marks, String> {
        let (emulator, mark) = (format!("qemu-{machine}"), mark(machine)?);
        let file = |what: &str| room.join(format!("{what}-{half}-{burst}"));
        let marks = file("marks");
        let _was_there = std::fs::remove_file(&marks);
        let words = format!(
            "{},out={},mark={mark},marks={}",
            self.plugin.display(),
            file("count").display(),
            marks.display()
        );
        let output = Command::new(&emulator)
            .args(["-plugin", &words])
            .arg(program)
            .args(["count", "--half", half, "--burst", &burst.to_string()])
            .args(["--packets", &arguments.count.to_string()])
            .args(traffic_words(arguments))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{emulator} doesn't start: {error} (Debian: qemu-user)"))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{emulator} does not count: {}", told.trim()));
        }
        let marks = std::fs::read_to_string(&marks)
            .map_err(|error| format!("{emulator} left no marks: {error}"))?;
        Marks::parse(&marks, &String::from_utf8_lossy(&output.stdout))
    }
}

/// The number of `getppid`, which marks, on a machine with Linux.
fn mark(machine: &str) -> Result<u32, String> {
    match machine {
        "x86_64" => Ok(110),
        "aarch64" => Ok(173),
        other => Err(format!("no program for {other} is counted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_mark_is_told() {
        assert_eq!(mark("x86_64"), Ok(110));
        assert_eq!(mark("sparc64").unwrap_err(), "no program for sparc64 is counted");
    }
}
