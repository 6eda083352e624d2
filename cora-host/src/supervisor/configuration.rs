//! Which version of read-mostly states is in force, and how another one takes its place while
//! packets come.
//!
//! The files of `--config` are read when the run begins, and again when somebody says so (SIGUSR1).
//! What they say then is made into a version by this very program in a process of its own, which
//! takes neither the wire's time nor its memory; what is refused there leaves everything as it is.
//! The version stands on the wire between two frames ([`versions`](crate::versions)), and is in
//! force when the host, which gets it by the NIC, says so. Halves that are started anew get the
//! version in force by a file without a name, whatever the files say by then.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::JoinHandle;

use cora_core::app::App;
use cora_core::migration::HostHalf;

use crate::RunError;
use crate::child;
use crate::map::sealed_file;
use crate::pages::Pages;
use crate::supply::Supply;
use crate::versions::{Change, Version};

/// The argument under which a program makes a change of read-mostly states.
pub(crate) const CHANGE_COMMAND: &str = "__change";

/// The versions of a live run.
#[derive(Debug)]
pub(super) struct Configuration {
    files: Vec<(String, PathBuf)>,
    in_force: Kept,
    coming: Option<Coming>,
    /// Somebody asked for the files to be read again.
    asked: bool,
    /// The outcome, when it is known.
    outcome: Option<Result<u32, String>>,
}

/// A version, and the file without a name that tells other processes of it.
#[derive(Debug)]
struct Kept {
    version: Version,
    file: File,
}

/// A version that is not in force yet.
#[derive(Debug)]
struct Coming {
    kept: Kept,
    /// Until it is made.
    made: Option<JoinHandle<Result<Change, String>>>,
}

impl Kept {
    fn new(version: Version) -> Result<Self, RunError> {
        let failed = |cause| RunError::System { what: "a file for the configuration", cause };
        let text = serde_json::to_vec(&version).unwrap_or_default();
        let file = sealed_file("cora-version", &text).map_err(failed)?;
        Ok(Self { version, file })
    }
}

impl Configuration {
    /// What the files say now, as the version with this number.
    pub(super) fn begin(files: &[(String, PathBuf)], number: u32) -> Result<Self, RunError> {
        let in_force = Kept::new(Version::first(number, files)?)?;
        Ok(Self { files: files.to_vec(), in_force, coming: None, asked: false, outcome: None })
    }

    /// The number of the version in force.
    pub(super) const fn number(&self) -> u32 {
        self.in_force.version.number
    }

    /// The highest number that any packet may have been judged under: behind it come those of
    /// another program.
    pub(super) fn latest(&self) -> u32 {
        self.coming.as_ref().map_or(self.number(), |coming| coming.kept.version.number)
    }

    /// The file that tells a new host of the version in force.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.in_force.file.as_fd()
    }

    /// Somebody wants the files to be read again: at once, or when the version under way is in
    /// force.
    pub(super) const fn ask(&mut self) {
        self.asked = true;
    }

    /// What came of reading the files again, once: the version in force, or why it is still
    /// another.
    pub(super) const fn outcome(&mut self) -> Option<Result<u32, String>> {
        self.outcome.take()
    }

    /// Goes on with what was asked for; a change that is ready for the wire.
    pub(super) fn advance(&mut self) -> Option<Change> {
        if self.coming.is_none() && std::mem::take(&mut self.asked) {
            match self.read_again() {
                Ok(Some(coming)) => self.coming = Some(coming),
                Ok(None) => {
                    eprintln!(
                        "version {} stays in force: the files say nothing else",
                        self.number()
                    );
                    self.outcome = Some(Ok(self.number()));
                }
                Err(error) => self.stays(&error.to_string()),
            }
        }
        let made = self.coming.as_mut()?.made.take_if(|made| made.is_finished())?;
        match made.join().unwrap_or_else(|_| Err("it can't be made".into())) {
            Ok(change) => Some(change),
            Err(why) => {
                self.coming = None;
                self.stays(&why);
                None
            }
        }
    }

    /// The host says that this version is in force at both sides.
    pub(super) fn arrived(&mut self, number: u64) {
        let is_it = |coming: &mut Coming| u64::from(coming.kept.version.number) <= number;
        let Some(coming) = self.coming.take_if(is_it) else { return };
        let states: Vec<_> = coming.kept.version.changed().collect();
        eprintln!("version {number} is in force: {} changed", states.join(", "));
        self.in_force = coming.kept;
        self.outcome = Some(Ok(self.number()));
    }

    fn stays(&mut self, why: &str) {
        let told = format!("version {} stays in force: {why}", self.number());
        eprintln!("{told}");
        self.outcome = Some(Err(told));
    }

    fn read_again(&self) -> Result<Option<Coming>, RunError> {
        let Some(version) = self.in_force.version.next(&self.files)? else { return Ok(None) };
        let kept = Kept::new(version)?;
        let mut command = child::own(CHANGE_COMMAND);
        child::gets(&mut command, &[kept.file.as_fd()]);
        command.arg(kept.file.as_raw_fd().to_string()).stdin(Stdio::null());
        // On a thread of its own: frames don't wait until it is made.
        let made = std::thread::spawn(move || {
            let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
            let output = output.map_err(|error| error.to_string())?;
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr);
                return Err(why.trim().trim_start_matches("error: ").to_owned());
            }
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
        });
        Ok(Some(Coming { kept, made: Some(made) }))
    }
}

/// The version that the file with this number tells of.
pub(super) fn told(file: i32) -> Result<Version, RunError> {
    let path = PathBuf::from(format!("/proc/self/fd/{file}"));
    let failed = |cause| RunError::File { path: path.clone(), cause };
    let text = std::fs::read(&path).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|error| failed(error.into()))
}

/// Makes the change to the version that the file with this number tells of; as JSON.
pub(crate) fn make_change<A: App>(file: i32) -> Result<String, RunError> {
    let mut app =
        Supply { seed: 0, pages: Pages::Small, resident: false }.app::<A>(HostHalf::bytes)?;
    let change = Change::make(&mut app, &told(file)?)?;
    Ok(serde_json::to_string(&change).unwrap_or_default())
}
