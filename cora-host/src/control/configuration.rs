//! Versions of read-mostly states, and their replacement while packets come.
//!
//! The files of `--config` are read when the run begins, and again on request (SIGUSR1). A separate
//! process of the same program then reads them and makes a version. So the wire loses neither time
//! nor memory, and files on storage that hangs block nothing. If the files are refused, everything
//! stays as it is. The version is placed on the wire between two frames
//! ([`versions`](crate::ingress::versions)). It is in force when the host, which receives it
//! through the NIC, reports that. Halves that are restarted get the version in force from an
//! unnamed file, regardless of the current files.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::control::beside::{self, Limits};
use crate::ingress::versions::{Change, Version};
use crate::memory::map::sealed_file;
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;
use crate::process::child;
use crate::process::log::{self, Part};

/// The argument with which a program makes a change of read-mostly states.
pub(crate) const CHANGE_COMMAND: &str = "__change";

/// Limits for reading the files and making a version. The output of the program itself is
/// unlimited.
const LIMITS: Limits = Limits { time: Duration::from_secs(30), bytes: usize::MAX };

/// Another version, and the change from the previous one; sent by the process that makes it.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    version: Version,
    change: Change,
}

/// The versions of a live run.
#[derive(Debug)]
pub(crate) struct Configuration {
    files: Vec<(String, PathBuf)>,
    in_force: Kept,
    /// The version under construction; `None` inside if the files are unchanged.
    making: Option<JoinHandle<Result<Option<Made>, String>>>,
    /// The version on the wire, not yet in force.
    coming: Option<Kept>,
    /// The files must be read again.
    asked: bool,
    /// The outcome, if known.
    outcome: Option<Result<u32, String>>,
}

/// A version, and the unnamed file that passes it to other processes.
#[derive(Debug)]
struct Kept {
    version: Arc<Version>,
    file: File,
}

impl Kept {
    fn new(version: Version) -> Result<Self, RunError> {
        let failed = |cause| RunError::System { what: "a file for the configuration", cause };
        let text = serde_json::to_vec(&version).unwrap_or_default();
        let file = sealed_file("cora-version", &text).map_err(failed)?;
        Ok(Self { version: Arc::new(version), file })
    }
}

impl Configuration {
    /// Makes the version with this number from the current files; `app` validates it.
    pub(crate) fn begin<A: App>(
        files: &[(String, PathBuf)],
        number: u32,
        app: &mut A,
    ) -> Result<Self, RunError> {
        let version = Version::first(number, files)?;
        version.put_in_force(app)?;
        let in_force = Kept::new(version)?;
        let (making, coming) = (None, None);
        Ok(Self { files: files.to_vec(), in_force, making, coming, asked: false, outcome: None })
    }

    /// The version in force.
    pub(crate) fn version(&self) -> &Version {
        &self.in_force.version
    }

    /// The same, shared.
    pub(crate) fn shared(&self) -> Arc<Version> {
        Arc::clone(&self.in_force.version)
    }

    /// The number of the version in force.
    pub(crate) fn number(&self) -> u32 {
        self.in_force.version.number
    }

    /// The highest version number that any packet may have been judged under. Numbers of a
    /// successor program follow it.
    pub(crate) fn latest(&self) -> u32 {
        self.coming.as_ref().map_or(self.number(), |coming| coming.version.number)
    }

    /// The file that passes the version in force to a new host.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.in_force.file.as_fd()
    }

    /// Requests that the files be read again: at once, or when the version under way is in force.
    pub(crate) const fn ask(&mut self) {
        self.asked = true;
    }

    /// Whether files are to be read, or a version is on its way.
    pub(crate) const fn is_changing(&self) -> bool {
        self.asked || self.making.is_some() || self.coming.is_some()
    }

    /// The outcome of reading the files again, once: the version in force, or why it is still
    /// another.
    pub(crate) const fn outcome(&mut self) -> Option<Result<u32, String>> {
        self.outcome.take()
    }

    /// Advances the requested change; returns one that is ready for the wire.
    pub(crate) fn advance(&mut self) -> Option<Change> {
        let idle = self.making.is_none() && self.coming.is_none();
        if idle && std::mem::take(&mut self.asked) {
            log::debug(Part::Configuration, "the files are read again");
            match self.read_again() {
                Ok(making) => self.making = Some(making),
                Err(why) => self.stays(&why),
            }
        }
        match beside::outcome(&mut self.making)? {
            Ok(Some(Made { version, change })) => match Kept::new(version) {
                Ok(kept) => {
                    let number = kept.version.number;
                    let goes = format_args!("version {number} is made, and goes to all halves");
                    log::debug(Part::Configuration, goes);
                    self.coming = Some(kept);
                    return Some(change);
                }
                Err(error) => self.stays(&error.to_string()),
            },
            Ok(None) => {
                log::info(
                    Part::Configuration,
                    format_args!(
                        "version {} stays in force: the files say nothing else",
                        self.number()
                    ),
                );
                self.outcome = Some(Ok(self.number()));
            }
            Err(why) => self.stays(&why),
        }
        None
    }

    /// The host reports that this version is in force at both sides.
    pub(crate) fn arrived(&mut self, number: u64) {
        let is_it = |coming: &mut Kept| u64::from(coming.version.number) <= number;
        let Some(coming) = self.coming.take_if(is_it) else { return };
        let states: Vec<_> = coming.version.changed().collect();
        let states = states.join(", ");
        let told = format_args!("version {number} is in force: {states} changed");
        log::info(Part::Configuration, told);
        self.in_force = coming;
        self.outcome = Some(Ok(self.number()));
    }

    fn stays(&mut self, why: &str) {
        let told = format!("version {} stays in force: {why}", self.number());
        log::warn(Part::Configuration, &told);
        self.outcome = Some(Err(told));
    }

    /// Starts to make a version from the current files.
    fn read_again(&self) -> Result<JoinHandle<Result<Option<Made>, String>>, String> {
        let before =
            File::open(path_of(self.file().as_raw_fd())).map_err(|error| error.to_string())?;
        let mut command = child::own(CHANGE_COMMAND);
        command.stdin(before);
        for (state, path) in &self.files {
            let mut file = std::ffi::OsString::from(format!("{state}="));
            file.push(path);
            command.arg(file);
        }
        Ok(beside::begin(move || {
            let told = beside::run(command, LIMITS)
                .map_err(|why| format!("the files are not read to their end: {why}"))?;
            if !told.status.success() {
                let why = String::from_utf8_lossy(&told.stderr);
                return Err(why.trim().trim_start_matches("error: ").to_owned());
            }
            serde_json::from_slice(&told.stdout).map_err(|error| error.to_string())
        }))
    }
}

fn path_of(file: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{file}"))
}

/// Reads the version from the file with this number.
pub(crate) fn told(file: i32) -> Result<Version, RunError> {
    let path = path_of(file);
    let failed = |cause| RunError::File { path: path.clone(), cause };
    let text = std::fs::read(&path).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|error| failed(error.into()))
}

/// Makes the version after the one in standard input from the current files, as JSON; `null` if
/// they are unchanged.
pub(crate) fn make_change<A: App>(files: &[(String, PathBuf)]) -> Result<String, RunError> {
    let failed = |cause| RunError::System { what: "reading the version in force", cause };
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).map_err(failed)?;
    let before: Version = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
    let made = match before.next(files)? {
        None => None,
        Some(version) => {
            let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
            let change = Change::make(&mut supply.app::<A>(HostHalf::bytes)?, &version)?;
            Some(Made { version, change })
        }
    };
    Ok(serde_json::to_string(&made).unwrap_or_default())
}
