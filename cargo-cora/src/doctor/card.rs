//! The parts of an emulated card: whether they are here, and how they come here. Emulator and
//! kernel are Debian's packages, fetched and checked by apt, and unpacked into a directory of the
//! user's. Nothing is installed, and apt's own lists and architectures stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cora_card::emulated::{EMULATOR, Parts};

use super::{Finding, State, modules};
use crate::failure::Failure;
use crate::progress::Progress;

/// The package of the emulator.
const EMULATOR_PACKAGE: &str = "qemu-system-arm";
/// The package that depends on the current kernel for Arm, and the card's architecture.
const KERNEL_PACKAGE: &str = "linux-image-cloud-arm64";
const ARCHITECTURE: &str = "arm64";

/// Whether a card can be emulated here.
pub(super) fn look() -> Finding {
    match Parts::find() {
        Ok(parts) => Finding::fine("emulated card", parts.emulator().display().to_string()),
        Err(_) => Finding::lacks(
            "emulated card",
            "no emulator or kernel: `--nic card` can't be used",
            State::Missing,
            "cargo cora doctor --fetch-card, on Debian",
        ),
    }
}

/// Fetches what is missing.
pub(super) fn fetch() -> Result<PathBuf, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let room = Parts::room().map_err(|error| failed(&error))?;
    if Parts::find().is_ok() {
        return Ok(room);
    }
    let work = room.join("fetch");
    let mut progress = Progress::after(std::time::Duration::ZERO);
    let fetched = fetch_into(&room, &work, &mut progress);
    progress.clear();
    let _was_there = fs::remove_dir_all(&work);
    fetched.map_err(|why| failed(&why))?;
    Parts::find().map_err(|error| failed(&error))?;
    Ok(room)
}

fn fetch_into(room: &Path, work: &Path, progress: &mut Progress) -> Result<(), String> {
    if !in_path("apt-get") || !in_path("dpkg-deb") {
        return Err(format!(
            "this machine has no apt-get: put {EMULATOR} (7.2 or newer) into PATH, a Linux kernel for Arm (an \
             uncompressed Image) at {}, and its modules for virtio-net, named in the order of loading, into {}",
            Parts::kernel_in(room).display(),
            Parts::modules_in(room).display()
        ));
    }
    if !in_path(EMULATOR) && !Parts::unpacked_in(room).exists() {
        progress.step("fetching the emulator of a card (20 MB, and apt's lists)");
        let apt = Apt::begin(&work.join("emulator"), None)?;
        apt.unpack(&apt.needed_by(EMULATOR_PACKAGE)?, &work.join("qemu"))?;
        replace(&work.join("qemu"), &Parts::unpacked_in(room))?;
    }
    progress.step("fetching the kernel of a card (21 MB, and apt's lists)");
    let apt = Apt::begin(&work.join("kernel"), Some(ARCHITECTURE))?;
    apt.unpack(&[apt.kernel()?], &work.join("image"))?;
    modules::copy(&work.join("image"), &work.join("modules"))?;
    replace(&work.join("modules"), &Parts::modules_in(room))?;
    replace(&image(&work.join("image/boot"))?, &Parts::kernel_in(room))
}

/// apt with lists and packages in a directory of its own.
struct Apt {
    room: PathBuf,
    options: Vec<String>,
}

impl Apt {
    /// With fresh lists, for another architecture if one is named.
    fn begin(room: &Path, architecture: Option<&str>) -> Result<Self, String> {
        let made = ["lists/partial", "cache/archives/partial", "packages"]
            .map(|directory| fs::create_dir_all(room.join(directory)));
        for made in made {
            made.map_err(|error| format!("{}: {error}", room.display()))?;
        }
        let at = |directory: &str| room.join(directory).display().to_string();
        let mut settings = vec![
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::Cache={}", at("cache")),
            // Root may fetch for itself here: only its owner can write into the directory.
            "APT::Sandbox::User=root".to_owned(),
        ];
        if let Some(architecture) = architecture {
            settings.push(format!("APT::Architecture={architecture}"));
            settings.push(format!("APT::Architectures={architecture}"));
            // What is installed here is for another machine.
            settings.push("Dir::State::status=/dev/null".to_owned());
        }
        let options = settings.into_iter().flat_map(|it| ["-o".to_owned(), it]).collect();
        let apt = Self { room: room.to_owned(), options };
        apt.run("apt-get", &["-qq", "update"])?;
        Ok(apt)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(&self.options).args(words).current_dir(self.room.join("packages"));
        told(command.env("LC_ALL", "C"))
    }

    /// The packages that an installation of this one would bring.
    fn needed_by(&self, package: &str) -> Result<Vec<String>, String> {
        let plan = self.run("apt-get", &["install", "-s", "--no-install-recommends", package])?;
        let names: Vec<String> = brought(&plan).map(str::to_owned).collect();
        if names.is_empty() { Err(format!("apt knows no package {package}")) } else { Ok(names) }
    }

    /// The package of the current kernel.
    fn kernel(&self) -> Result<String, String> {
        let told = self.run("apt-cache", &["depends", KERNEL_PACKAGE])?;
        let name = told.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
        let name = name.ok_or_else(|| format!("apt names no kernel for {KERNEL_PACKAGE}"))?;
        Ok(format!("linux-image-{name}"))
    }

    /// Fetches packages, and unpacks them below `to`.
    fn unpack(&self, packages: &[String], to: &Path) -> Result<(), String> {
        let mut words = vec!["-qq", "download"];
        words.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &words)?;
        let files = self.room.join("packages");
        let files = files.read_dir().map_err(|error| format!("{}: {error}", files.display()))?;
        for file in files.filter_map(Result::ok) {
            told(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(to))?;
        }
        Ok(())
    }
}

/// The packages in the plan of an installation: lines `Inst NAME (VERSION …)`.
fn brought(plan: &str) -> impl Iterator<Item = &str> {
    plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
}

/// The kernel in this directory.
fn image(boot: &Path) -> Result<PathBuf, String> {
    let files = boot.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut files = files.filter(|it| it.file_name().to_string_lossy().starts_with("vmlinuz"));
    let found = files.next().map(|it| it.path());
    found.ok_or_else(|| format!("the kernel's package has no {}/vmlinuz", boot.display()))
}

/// Puts a file or directory in its place at once, so that no half of one is ever found there.
fn replace(from: &Path, to: &Path) -> Result<(), String> {
    let _was_there = fs::remove_dir_all(to);
    fs::rename(from, to).map_err(|error| format!("{}: {error}", to.display()))
}

/// What the command printed; the error has its last words.
fn told(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} doesn't start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("{name} ended with {}: {last}", output.status))
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_an_installation_would_bring() {
        let plan = "Reading package lists...\nInst libfdt1 (1.6.1 Debian:12 [amd64])\n\
                    Inst qemu-system-arm (1:7.2 Debian:12 [amd64])\nConf libfdt1 (1.6.1 Debian:12)\n";
        assert_eq!(brought(plan).collect::<Vec<_>>(), ["libfdt1", "qemu-system-arm"]);
    }

    #[test]
    fn a_command_that_fails_is_quoted() {
        let failed = |script: &str| told(Command::new("sh").args(["-c", script])).unwrap_err();
        assert_eq!(
            failed("echo one >&2; echo two >&2; exit 3"),
            "sh ended with exit status: 3: two"
        );
        assert_eq!(failed("exit 1"), "sh ended with exit status: 1: no message");
        assert!(told(&mut Command::new("/nowhere")).unwrap_err().contains("doesn't start"));
    }

    #[test]
    fn a_kernel_is_put_in_its_place() {
        let room = tempfile::tempdir().expect("a directory");
        let boot = room.path().join("boot");
        fs::create_dir(&boot).expect("a directory");
        assert!(image(&boot).unwrap_err().contains("has no"));
        fs::write(boot.join("vmlinuz-6.1"), "kernel").expect("a file");
        let place = room.path().join("kernel");
        for _ in 0..2 {
            fs::write(boot.join("vmlinuz-6.1"), "kernel").expect("a file");
            replace(&image(&boot).expect("it is there"), &place).expect("it can be moved");
        }
        assert_eq!(fs::read(&place).expect("a file"), b"kernel");
    }
}
