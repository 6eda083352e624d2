//! Replaces the running program by another build; its connections survive.
//!
//! First the new program proves that it can run, while the running one continues. It prints the
//! layout of its durable entries. Then it runs once with the running one's command line between
//! internal ports ([`rehearsal`](crate::options::Run::rehearsal)), including both halves.
//!
//! Then the supervisor lets both halves end in good order, so that nothing is in transfer, and
//! becomes the new program by `exec`. It is still the same process, which keeps TAP interfaces and
//! the memory with the replicas of durable entries. The new host carries these over
//! ([`layout`](crate::durability::layout)) before the first packet. Frames wait in TAP interfaces
//! meanwhile. Other interfaces are opened again, and frames that arrive in between are lost.
//!
//! A card at an interface needs its own new program, since no program crosses the link. Before the
//! running one stops, its relay asks the agent there whether it would serve the new build.
//!
//! If the new program still fails before both of its halves work, it becomes the previous one
//! again: it inherits that program's file, and the replicas still exist.
#![expect(unsafe_code, reason = "closes files that it inherited by their numbers")]

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use cora_port::Upgrade;
use rustix::io::{Errno, FdFlags};

use crate::RunError;
use crate::control::beside::{self, Limits};
use crate::control::builds::build_of;
use crate::durability::layout::Layout;
use crate::memory::map;
use crate::process::inquiry::Asker;
use crate::process::log::{self, Part};

/// The argument that makes a program print the layout of its durable entries.
pub(crate) const LAYOUT_COMMAND: &str = "__layout";

/// The option with the legacy of the previous program.
pub(crate) const LEGACY: &str = "legacy";

/// The option that makes a program run once as a proof.
pub(crate) const REHEARSE: &str = "rehearse";

/// The environment variable with the events of the previous program: `PROCESS:FILE`. It is in vain
/// for children of the process.
const EVENTS: &str = "CORA_EVENTS";

/// Limits for printing the layout.
const LAYOUT_LIMITS: Limits = Limits { time: Duration::from_secs(5), bytes: 1 << 20 };
/// Limits for the rehearsal, which starts two halves, possibly under an emulator.
const REHEARSAL_LIMITS: Limits = Limits { time: Duration::from_secs(20), bytes: 1 << 20 };

/// The legacy of the previous program, as passed on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// Files of the ports by their numbers, if they are inherited: others are opened again. Inside
    /// and outside are always there.
    pub(crate) ports: Vec<Option<i32>>,
    /// Files of the replica memory, and their lengths in bytes: one of each shard.
    pub(crate) replicas: Vec<(i32, usize)>,
    /// The last region's generation.
    pub(crate) generation: u64,
    /// How often the program has been replaced.
    pub(crate) upgrades: u64,
    /// The last version of read-mostly states.
    pub(crate) version: u32,
    /// The epoch of the wire's clock ([`Clock::since`](crate::ingress::clock::Clock::since)).
    pub(crate) epoch: u64,
    /// The seed of all hashes: flows are steered to the same shards.
    pub(crate) seed: u64,
    /// File of the previous program, for a way back; `None` on the way back.
    pub(crate) image: Option<i32>,
}

impl FromStr for Legacy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is nothing that a program leaves behind: it is for `run --live` alone"
            )
        };
        let words: [&str; 9] =
            text.split(',').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
        let [inside, outside, replicas, generation, upgrades, version, epoch, seed, image] = words;
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        let file = |word: &str| i32::try_from(number(word)?).map_err(|_| wrong());
        let maybe = |word: &str| if word == "-" { Ok(None) } else { file(word).map(Some) };
        let memory = |word: &str| {
            let (number_of, bytes) = word.split_once(':').ok_or_else(wrong)?;
            Ok((file(number_of)?, number(bytes)? as usize))
        };
        let (generation, upgrades) = (number(generation)?, number(upgrades)?);
        // Further ports stand behind the outside one, so that builds which know of two ports alone
        // and others understand each other about two.
        let ports = std::iter::once(inside).chain(outside.split('/')).map(maybe);
        Ok(Self {
            ports: ports.collect::<Result<_, String>>()?,
            replicas: replicas.split('/').map(memory).collect::<Result<_, String>>()?,
            generation,
            upgrades,
            version: u32::try_from(number(version)?).map_err(|_| wrong())?,
            epoch: number(epoch)?,
            seed: number(seed)?,
            image: maybe(image)?,
        })
    }
}

impl Legacy {
    /// The legacy for a rehearsal.
    const NOTHING: &str = "-,-,0:0,0,0,0,0,0,-";

    fn argument(&self) -> String {
        let Self { ports, replicas, .. } = self;
        let Self { generation, upgrades, version, epoch, seed, image, .. } = self;
        let replicas = replicas.iter().map(|(file, bytes)| format!("{file}:{bytes}"));
        let replicas: Vec<_> = replicas.collect();
        let replicas = replicas.join("/");
        let file =
            |file: &Option<i32>| file.map_or_else(|| "-".to_owned(), |file| file.to_string());
        let mut ports = ports.iter().map(file);
        let inside = ports.next().unwrap_or_else(|| "-".to_owned());
        let outside = ports.next().unwrap_or_else(|| "-".to_owned());
        let further = std::iter::once(outside).chain(ports).collect::<Vec<_>>().join("/");
        let image = file(image);
        format!(
            "{inside},{further},{replicas},{generation},{upgrades},{version},{epoch},{seed},{image}"
        )
    }
}

/// The path of this program's file, even if it was replaced.
pub(crate) fn own_file() -> Result<PathBuf, RunError> {
    let failed = |cause| RunError::System { what: "finding this program's file", cause };
    let path = std::env::current_exe().map_err(failed)?;
    // The kernel marks a file in this way if its name was given to another one.
    let name = path.to_str().and_then(|name| name.strip_suffix(" (deleted)"));
    Ok(match name {
        Some(name) if !path.exists() => name.into(),
        _ => path,
    })
}

/// Checks whether the program in this file can replace this one and take its entries of this
/// layout, and whether the card that can be asked, if any, serves it; the error is the reason.
pub(crate) fn check(
    program: &Path,
    old: &Layout,
    card: Option<Result<Asker, String>>,
) -> Result<(), String> {
    let shown = program.display();
    let mut command = Command::new(program);
    command.arg(LAYOUT_COMMAND).stdin(Stdio::null());
    let told = beside::run(command, LAYOUT_LIMITS).map_err(|why| format!("{shown}: {why}"))?;
    let new: Layout = serde_json::from_slice(&told.stdout)
        .map_err(|_| format!("{shown} is not a program of Cora with live runs"))?;
    new.conversion(old)?;
    if let Some(card) = card
        && !card?.serves(build_of(program)?)?
    {
        return Err(format!(
            "the card has no program that goes with {shown}: put the one of the same build in the \
             place of its agent's file, and ask again"
        ));
    }
    rehearse(program).map_err(|why| format!("{shown} can't run as this program does: {why}"))
}

/// Runs it once, with this program's own command line.
fn rehearse(program: &Path) -> Result<(), String> {
    let (_, words) = own_words(LEGACY);
    let mut command = Command::new(program);
    // It must accept a legacy, but take nothing of it.
    command.args(words).arg(format!("--{LEGACY}")).arg(Legacy::NOTHING);
    command.arg(format!("--{REHEARSE}")).stdin(Stdio::null());
    let told = beside::run(command, REHEARSAL_LIMITS)?;
    if told.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&told.stderr);
    let mut said = said.lines().filter(|line| !line.trim().is_empty());
    // The first error is the cause; without one, the last line is closest to it.
    let first = said.clone().find_map(|line| line.strip_prefix("error: "));
    Err(match first.or_else(|| said.next_back()) {
        Some(why) => format!("{} ({})", why.trim(), told.status),
        None => told.status.to_string(),
    })
}

/// This process's name, and the words of its command line but for this option and its value, which
/// concern a previous program.
fn own_words(option: &str) -> (Option<OsString>, Vec<OsString>) {
    let option = OsString::from(format!("--{option}"));
    let mut words = std::env::args_os();
    let name = words.next();
    let mut words: Vec<_> = words.collect();
    if let Some(at) = words.iter().position(|word| *word == option) {
        words.drain(at..(at + 2).min(words.len()));
    }
    (name, words)
}

/// Becomes the program in this file; returns only with an error.
pub(crate) fn become_program(program: &Path, ports: Vec<Upgrade<'_>>, legacy: Legacy) -> RunError {
    let failed = |cause| RunError::Start { program: program.display().to_string(), cause };
    let mut files = Vec::new();
    for port in ports {
        let Upgrade::Inherit(file) = port else {
            files.push(None);
            continue;
        };
        if let Err(errno) = rustix::io::fcntl_setfd(file, FdFlags::empty()) {
            return failed(errno.into());
        }
        files.push(Some(file.as_raw_fd()));
    }
    // A machine without /proc has no way back, but can still upgrade.
    let image = File::open("/proc/self/exe").ok();
    let image = image.filter(|image| rustix::io::fcntl_setfd(image, FdFlags::empty()).is_ok());
    let image = image.map(File::into_raw_fd);
    let legacy = Legacy { ports: files, image, ..legacy };
    execute(program, LEGACY, Some(legacy.argument()))
}

/// Becomes the program in this file by `exec`, with this program's words, and with this option for
/// what it leaves behind; returns only with an error.
pub(crate) fn execute(program: &Path, option: &str, left: Option<String>) -> RunError {
    let (name, words) = own_words(option);
    let mut command = Command::new(program);
    command.arg0(name.unwrap_or_else(|| program.into()));
    command.args(words);
    if let Some(left) = left {
        command.arg(format!("--{option}")).arg(left);
    }
    log::flush();
    // Only a run has them, and its successor is the same process.
    let events = (option == LEGACY).then(leave_events).flatten();
    match &events {
        Some(file) => command.env(EVENTS, format!("{}:{}", std::process::id(), file.as_raw_fd())),
        // The number of a file that is closed may be another one's by now.
        None => command.env_remove(EVENTS),
    };
    let cause = command.exec();
    RunError::Start { program: program.display().to_string(), cause }
}

/// A file with the events so far; `None` if it can't be made, and then they end here.
fn leave_events() -> Option<File> {
    let file = map::sealed_file("cora-events", &log::events_to_leave()).ok()?;
    rustix::io::fcntl_setfd(&file, FdFlags::empty()).ok()?;
    Some(file)
}

/// Goes on with the events of the previous program, if it left some.
pub(crate) fn follow_events() {
    let left = std::env::var(EVENTS).ok();
    let own = left.as_deref().and_then(|left| left.split_once(':')).and_then(|(process, file)| {
        let is_own = process.parse() == Ok(std::process::id());
        file.parse().ok().filter(|_| is_own)
    });
    if let Some(file) = own.and_then(|number| take_over(number).ok()) {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // Without them events begin anew.
        log::follow_events(&std::fs::read(path).unwrap_or_default());
    }
}

/// The way back to the previous program, until this one works.
#[derive(Debug)]
pub(crate) struct WayBack {
    legacy: Legacy,
    /// Its file.
    image: i32,
}

impl WayBack {
    /// From the legacy of the previous program, if it includes a way back.
    pub(crate) fn of(legacy: &Legacy) -> Option<Self> {
        Some(Self { legacy: legacy.clone(), image: legacy.image? })
    }

    /// Becomes the previous program again, for this reason; returns only with an error.
    pub(crate) fn take(self, why: &RunError) -> RunError {
        let back = "the new program can't go on, and the one before comes back";
        log::error(Part::Run, format_args!("{back}: {why}"));
        let Self { legacy, image } = self;
        let program = PathBuf::from(format!("/proc/self/fd/{image}"));
        let upgrades = legacy.upgrades.saturating_sub(1);
        let legacy = Legacy { upgrades, image: None, ..legacy };
        execute(&program, LEGACY, Some(legacy.argument()))
    }
}

/// Takes over a file that the previous program left open under this number.
pub(crate) fn take_over(number: i32) -> Result<OwnedFd, Errno> {
    let own = map::left_file(number)?;
    // SAFETY: the previous program left the file to this one, which has a duplicate of its own, and
    // uses this number for the last time.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    Ok(own)
}

/// Closes the files of the previous program's legacy, once this program works.
pub(crate) fn let_go(legacy: &Legacy) {
    let Legacy { ports, replicas, image, .. } = legacy;
    let replicas = replicas.iter().map(|(file, _)| *file);
    for file in ports.iter().chain([image]).copied().flatten().chain(replicas) {
        // SAFETY: the previous program left the file to this one, which opened its own duplicates
        // of the files that it needs, and uses this number for the last time.
        drop(unsafe { OwnedFd::from_raw_fd(file) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_is_told_by_an_argument() {
        assert!(Legacy::NOTHING.parse::<Legacy>().is_ok());
        let further = vec![Some(3), None, Some(4), Some(10)];
        for ports in [vec![Some(3), Some(4)], vec![None, Some(4)], vec![None, None], further] {
            for image in [Some(9), None] {
                for replicas in [vec![(5, 8192)], vec![(5, 8192), (6, 4096)]] {
                    let legacy = Legacy {
                        ports: ports.clone(),
                        replicas,
                        generation: 7,
                        upgrades: 1,
                        version: 3,
                        epoch: u64::MAX,
                        seed: 8,
                        image,
                    };
                    assert_eq!(legacy.argument().parse(), Ok(legacy));
                }
            }
        }
        // The ports are a card's.
        let nothing: Legacy = Legacy::NOTHING.parse().expect("it is read");
        let of_card = Legacy { ports: Vec::new(), ..nothing.clone() };
        assert_eq!(of_card.argument().parse(), Ok(nothing));
        for wrong in [
            "",
            "1,2,3",
            "1,2,3:4,5,6,7,8",
            "1,2,3,4,5,6,7,8,9",
            "1,2,3:4,5,6,x,8,9,9",
            "99999999999,1,2:3,4,5,6,7,8,9",
            "1,2,-,3,4,5,6,7,8",
            "1,2,3:4/,4,5,6,7,8,9",
            "1,2/,3:4,4,5,6,7,8,9",
            "1/2,3,3:4,4,5,6,7,8,9",
        ] {
            assert!(wrong.parse::<Legacy>().is_err(), "{wrong}");
        }
    }
}
