//! Where lines go, and in which form.
//!
//! | place | form |
//! | --- | --- |
//! | none named: standard error | the text alone |
//! | `stderr`, a file | time (UTC), level, part, text |
//! | `journal`: standard error | `<N>`, part, text; systemd reads N as the priority |
//!
//! The journal is chosen by itself if standard error leads there (`JOURNAL_STREAM`). A file is
//! opened again as soon as another one, or none, stands in its place: a rotation of logs needs to
//! tell nobody.

use std::fmt;
use std::fs::File;
use std::io::{Error, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Line;
use super::halves::with_header;
use super::levels::Level;
use crate::RunError;

/// The place that an option names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogTo {
    Stderr,
    Journal,
    File(PathBuf),
}

impl LogTo {
    /// Whether this word names no file.
    pub(crate) fn is_known(word: &str) -> bool {
        ["stderr", "journal"].contains(&word)
    }
}

impl fmt::Display for LogTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stderr => f.write_str("stderr"),
            Self::Journal => f.write_str("journal"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for LogTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("say stderr, journal, or a file".to_owned()),
            "stderr" => Ok(Self::Stderr),
            "journal" => Ok(Self::Journal),
            path => Ok(Self::File(path.into())),
        }
    }
}

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Bare,
    Full,
    Journal,
    /// For the process at the other end of a pipe.
    Header,
}

impl Form {
    /// The line with its end. Each line of a longer text has the same beginning.
    pub(super) fn of(self, line: &Line) -> String {
        let Line { when, part, level, text, .. } = line;
        let begin = match self {
            Self::Header => return with_header(line),
            Self::Bare => return format!("{text}\n"),
            Self::Full => format!("{} {:<5} {}: ", utc(*when), level.name(), part.name()),
            Self::Journal => format!("<{}>{}: ", priority(*level), part.name()),
        };
        text.lines().flat_map(|text| [&begin, text, "\n"]).collect()
    }
}

/// The priority by which systemd knows a level (`sd-daemon`, RFC 5424).
const fn priority(level: Level) -> u8 {
    match level {
        Level::Off | Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug => 7,
    }
}

/// A moment as RFC 3339 has it, to the millisecond. One before 1970 is its beginning.
#[must_use]
pub fn utc(when: SystemTime) -> String {
    let since = when.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, ms) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / 86_400);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{:02}.{ms:03}Z", seconds % 60)
}

/// Year, month and day, by the days since 1970-01-01.
const fn date(days: u64) -> (u64, u64, u64) {
    // Eras of 400 years, which begin with a first of March: leap days come last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

/// The place of a log.
#[derive(Debug)]
pub(super) struct Place {
    form: Form,
    file: Option<Rotated>,
}

impl Place {
    /// Standard error, in this form.
    pub(super) const fn standard_error(form: Form) -> Self {
        Self { form, file: None }
    }

    /// The place that is named, or else where standard error leads.
    pub(super) fn of(named: Option<&LogTo>) -> Result<Self, RunError> {
        Ok(match named {
            None if leads_to_journal() => Self::standard_error(Form::Journal),
            None => Self::standard_error(Form::Bare),
            Some(LogTo::Stderr) => Self::standard_error(Form::Full),
            Some(LogTo::Journal) => Self::standard_error(Form::Journal),
            Some(LogTo::File(path)) => {
                let opened = Rotated::open(path);
                let file = opened.map_err(|cause| RunError::File { path: path.clone(), cause })?;
                Self { form: Form::Full, file: Some(file) }
            }
        })
    }

    pub(super) fn write(&mut self, lines: &[&Line]) -> std::io::Result<()> {
        let text: String = lines.iter().map(|line| self.form.of(line)).collect();
        match &mut self.file {
            None => StandardError.write_all(text.as_bytes()),
            Some(file) => file.write(text.as_bytes()),
        }
    }

    /// The end of a run is told on standard error, too, wherever its log is.
    pub(super) fn is_file(&self) -> bool {
        self.file.is_some()
    }
}

/// Whether standard error is the stream that systemd reads: its device and inode.
fn leads_to_journal() -> bool {
    let Some(stream) = std::env::var_os("JOURNAL_STREAM") else { return false };
    let stat = rustix::fs::fstat(std::io::stderr().as_fd());
    stat.is_ok_and(|stat| stream.to_str() == Some(&format!("{}:{}", stat.st_dev, stat.st_ino)))
}

/// Standard error without the lock of the standard library: a blocking write stalls only this
/// thread.
pub(super) struct StandardError;

impl Write for StandardError {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(std::io::stderr().as_fd(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A file that somebody may move away, or remove, at any time.
#[derive(Debug)]
struct Rotated {
    path: PathBuf,
    file: File,
    /// Its device and its number there.
    identity: (u64, u64),
}

impl Rotated {
    fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).mode(0o640).open(path)?;
        let there = file.metadata()?;
        Ok(Self { path: path.to_owned(), file, identity: (there.dev(), there.ino()) })
    }

    /// Appends to the file that is in place now.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let there = self.path.metadata().map(|there| (there.dev(), there.ino()));
        if !there.is_ok_and(|there| there == self.identity) {
            *self = Self::open(&self.path)
                .map_err(|cause| Error::new(cause.kind(), self.path.display().to_string()))?;
        }
        self.file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::levels::Part;
    use super::*;

    fn line(text: &str) -> Line {
        let when = UNIX_EPOCH + Duration::from_millis(1_709_164_799_007);
        Line { when, ..Line::now(Part::Ports, Level::Warn, text.to_owned()) }
    }

    #[test]
    fn each_place_has_its_form() {
        let of = |form: Form| form.of(&line("down\nand out"));
        assert_eq!(of(Form::Bare), "down\nand out\n");
        assert_eq!(of(Form::Journal), "<4>ports: down\n<4>ports: and out\n");
        let begin = "2024-02-28T23:59:59.007Z warn  ports: ";
        assert_eq!(of(Form::Full), format!("{begin}down\n{begin}and out\n"));
        let priorities = [Level::Error, Level::Warn, Level::Info, Level::Debug].map(priority);
        assert_eq!(priorities, [3, 4, 6, 7], "those of sd-daemon");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), format!("{day}.000Z"));
        }
        assert_eq!(utc(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_file_that_was_moved_away_or_removed_is_made_again() {
        let room = tempfile::tempdir().expect("a directory");
        let (path, old) = (room.path().join("log"), room.path().join("log.1"));
        std::fs::write(&path, "before\n").expect("a file");
        let mut place = Place::of(Some(&LogTo::File(path.clone()))).expect("it is there");
        let mut say = |text: &str| place.write(&[&line(text)]);
        let has = |path: &Path| std::fs::read_to_string(path).expect("it is there");
        say("a").expect("room");
        std::fs::rename(&path, &old).expect("it is ours");
        say("b").expect("room");
        say("c").expect("room");
        assert!(has(&old).starts_with("before\n") && has(&old).ends_with("ports: a\n"));
        assert_eq!(has(&path).lines().count(), 2);
        std::fs::remove_file(&path).expect("it is ours");
        say("d").expect("room");
        assert!(has(&path).ends_with("ports: d\n") && has(&path).lines().count() == 1);
        // A directory that is gone is an error of the line, and no end.
        std::fs::remove_dir_all(room.path()).expect("it is ours");
        assert!(say("e").is_err() && say("f").is_err());
        std::fs::create_dir(room.path()).expect("it was ours");
        say("g").expect("room");
        assert!(has(&path).ends_with("ports: g\n"));
    }

    #[test]
    fn a_place_is_named_in_a_word() {
        for text in ["stderr", "journal", "./stderr", "/var/log/nat"] {
            assert_eq!(text.parse::<LogTo>().expect(text).to_string(), text);
        }
        assert!("".parse::<LogTo>().is_err());
        let wrong = Place::of(Some(&LogTo::File("/proc/no/log".into())));
        assert!(wrong.expect_err("no such directory").to_string().contains("/proc/no/log"));
    }
}
