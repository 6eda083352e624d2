//! The programs that an agent can be: it becomes the one that its host calls for.
//!
//! 1. The operator puts the new program in the place of the agent's file. Nothing happens yet.
//! 2. A host calls for another build, and the file has that: the agent becomes the program in it by
//!    `exec`, with the same words. The host repeats its call until somebody answers.
//! 3. If the new program fails at the host, the one before calls again. The agent kept the file of
//!    the program that it was, and becomes that again.
//!
//! No program crosses the link. A host only chooses among those that were put here by somebody who
//! may write to this place.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cora_link::mirror::Build;
use rustix::io::FdFlags;

use crate::RunError;
use crate::control::beside;
use crate::control::builds::build_of;
use crate::control::upgrade;
use crate::process::log::{self, Part};

/// The option by which an agent gets the file of the program that it was.
pub(super) const PREVIOUS: &str = "previous";

/// How long a file that is no program is not asked again.
const AGAIN: Duration = Duration::from_secs(5);

/// The program that an agent was, as passed on the command line: its file by its number, and its
/// build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Previous {
    file: i32,
    build: Build,
}

impl FromStr for Previous {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let [file, layout, plan] = text.split(',').collect::<Vec<_>>().try_into().ok()?;
            let build = Build { layout: layout.parse().ok()?, plan: plan.parse().ok()? };
            Some(Self { file: file.parse().ok()?, build })
        };
        read().ok_or_else(|| format!("`{text}` is no program before: an agent alone says this"))
    }
}

impl Previous {
    fn argument(self) -> String {
        let Self { file, build: Build { layout, plan } } = self;
        format!("{file},{layout},{plan}")
    }
}

/// A file as it is now: its device, its number there, its bytes, and when it was changed.
type Seen = (u64, u64, u64, (i64, i64));

fn seen(path: &Path) -> Option<Seen> {
    let found = path.metadata().ok()?;
    let changed = (found.mtime(), found.mtime_nsec());
    Some((found.dev(), found.ino(), found.size(), changed))
}

/// The build of the file in an agent's place, if it is a program.
#[derive(Clone, Copy, Debug)]
struct Known {
    seen: Seen,
    build: Option<Build>,
    /// When it was asked.
    when: Instant,
}

/// The programs that an agent can be.
#[derive(Debug)]
pub(super) struct Programs {
    /// This program's file, or the one that took its place.
    place: PathBuf,
    own: Build,
    previous: Option<(OwnedFd, Build)>,
    known: Option<Known>,
    /// Another thread finds that out.
    look: Option<(Seen, JoinHandle<Result<Build, String>>)>,
}

/// A program that an agent is not, but can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    InPlace,
    Previous,
}

impl Programs {
    /// Those of an agent of this plan, which was another program before.
    pub(super) fn of(plan: u64, previous: Option<Previous>) -> Result<Self, RunError> {
        let take = |previous: Previous| {
            let file = upgrade::take_over(previous.file).map_err(|errno| RunError::System {
                what: "the file of the program before",
                cause: errno.into(),
            })?;
            Ok::<_, RunError>((file, previous.build))
        };
        Ok(Self {
            place: upgrade::own_file()?,
            own: Build::of_plan(plan),
            previous: previous.map(take).transpose()?,
            known: None,
            look: None,
        })
    }

    /// The file in this program's place, if it is another one.
    fn replaced(&self) -> Option<Seen> {
        let there = seen(&self.place)?;
        (seen(Path::new("/proc/self/exe")) != Some(there)).then_some(there)
    }

    /// The build in this program's place, if that is another file; waits until it is found out.
    fn in_place(&mut self) -> Option<Build> {
        let there = self.replaced()?;
        if let Some(known) = self.known_of(there) {
            return known.build;
        }
        let found = build_of(&self.place);
        self.note(there, found)
    }

    fn note(&mut self, there: Seen, found: Result<Build, String>) -> Option<Build> {
        let build = found.map_err(|why| log::warn(Part::Card, why)).ok();
        self.known = Some(Known { seen: there, build, when: Instant::now() });
        build
    }

    /// What is known of the file in place. One that is no program is asked again after a while:
    /// somebody may still have written to it.
    fn known_of(&self, there: Seen) -> Option<Known> {
        let holds = |known: &Known| known.build.is_some() || known.when.elapsed() < AGAIN;
        self.known.filter(|known| known.seen == there && holds(known))
    }

    fn was(&self, build: Build) -> bool {
        self.previous.as_ref().is_some_and(|(_, previous)| *previous == build)
    }

    /// The program to become for a host that calls for this build, if it is not this one: the
    /// newest that has it.
    pub(super) fn for_call(&mut self, build: Build) -> Option<Other> {
        if self.in_place() == Some(build) {
            Some(Other::InPlace)
        } else if self.own != build && self.was(build) {
            Some(Other::Previous)
        } else {
            None
        }
    }

    /// Whether the agent would serve this build, once that is found out: a session goes on
    /// meanwhile.
    pub(super) fn would_serve(&mut self, build: Build) -> Option<bool> {
        if let Some((there, look)) = self.look.take() {
            let mut look = Some(look);
            let Some(found) = beside::outcome(&mut look) else {
                self.look = look.map(|look| (there, look));
                return None;
            };
            self.note(there, found);
        }
        if self.own == build || self.was(build) {
            return Some(true);
        }
        let Some(there) = self.replaced() else { return Some(false) };
        if let Some(known) = self.known_of(there) {
            return Some(known.build == Some(build));
        }
        let place = self.place.clone();
        self.look = Some((there, beside::begin(move || build_of(&place))));
        None
    }

    /// Becomes this program; returns only with an error.
    pub(super) fn become_other(&self, other: Other) -> RunError {
        let shown = self.place.display();
        let program = if other == Other::Previous
            && let Some((file, _)) = &self.previous
        {
            log::info(
                Part::Card,
                "the host calls for the program before: this agent becomes that again",
            );
            format!("/proc/self/fd/{}", file.as_raw_fd()).into()
        } else {
            log::info(
                Part::Card,
                format_args!(
                    "the host calls for the program that is now in {shown}: this agent becomes it"
                ),
            );
            self.place.clone()
        };
        // A machine without /proc has no way back.
        let image = File::open("/proc/self/exe").ok();
        let image = image.filter(|image| rustix::io::fcntl_setfd(image, FdFlags::empty()).is_ok());
        let previous =
            image.as_ref().map(|image| Previous { file: image.as_raw_fd(), build: self.own });
        upgrade::execute(&program, PREVIOUS, previous.map(Previous::argument))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_before_is_told_by_an_argument() {
        let previous = Previous { file: 9, build: Build { layout: 3, plan: u64::MAX } };
        assert_eq!(previous.argument().parse(), Ok(previous));
        for wrong in ["", "9", "9,3", "x,3,4", "9,3,4,5"] {
            assert!(wrong.parse::<Previous>().is_err(), "{wrong}");
        }
    }

    fn programs(place: &Path) -> Programs {
        let own = Build { layout: 1, plan: 1 };
        Programs { place: place.to_owned(), own, previous: None, known: None, look: None }
    }

    /// The answer, once it is there.
    fn would(programs: &mut Programs, build: Build) -> bool {
        loop {
            if let Some(serves) = programs.would_serve(build) {
                return serves;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_file_in_its_place_is_looked_at_and_no_other() {
        let room = tempfile::tempdir().expect("a directory");
        let place = room.path().join("program");
        let build = |plan| Build { layout: 1, plan };
        let mut programs = programs(&place);
        assert!(would(&mut programs, build(1)) && !would(&mut programs, build(2)));
        assert_eq!((programs.for_call(build(1)), programs.for_call(build(2))), (None, None));
        // It is no program, and then it is none of Cora.
        for text in ["", "#!/bin/sh\necho '{}'\n"] {
            std::fs::write(&place, text).expect("a file");
            assert!(!would(&mut programs, build(2)), "{text}");
            assert_eq!(programs.for_call(build(2)), None, "{text}");
        }
    }

    #[test]
    fn the_program_before_is_there_if_the_one_in_place_is_another() {
        let room = tempfile::tempdir().expect("a directory");
        let mut programs = programs(&room.path().join("program"));
        let before = Build { layout: 1, plan: 7 };
        let file = File::open("/dev/null").expect("a file");
        programs.previous = Some((file.into(), before));
        assert_eq!(programs.for_call(before), Some(Other::Previous));
        assert_eq!(programs.for_call(programs.own), None);
        assert!(would(&mut programs, before));
    }
}
