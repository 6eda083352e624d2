//! The archive of `doctor --bundle`, for somebody who helps from afar.
//!
//! No file of it has a packet. The manifest has the reason for each file that is missing, and the
//! others are there all the same.
//!
//! | module | contents |
//! | --- | --- |
//! | `archive` | the files of a bundle, compressed, with a manifest |
//! | `live` | the answers of a live run |
//! | `package` | statements, graph and plan of a package |

mod archive;
mod live;
mod package;

use std::path::Path;

use crate::arguments::Doctor;
use crate::failure::Failure;

/// A file of a bundle.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its path in the bundle.
    name: &'static str,
    /// A line that describes it.
    what: &'static str,
    /// Its content, or the reason why it is missing.
    content: Result<String, String>,
}

impl Part {
    /// A file that can always be made.
    pub(crate) const fn had(name: &'static str, what: &'static str, content: String) -> Self {
        Self { name, what, content: Ok(content) }
    }

    fn new<E: ToString>(
        name: &'static str,
        what: &'static str,
        content: Result<String, E>,
    ) -> Self {
        Self { name, what, content: content.map_err(|why| why.to_string()) }
    }
}

/// Writes a bundle of these files, and of those that the command line names. Returns its manifest.
///
/// # Errors
/// When the archive can't be written.
pub(crate) fn write(to: &Path, named: &Doctor, first: Vec<Part>) -> Result<String, Failure> {
    let mut parts = first;
    parts.extend(named.package.as_deref().map(package::parts).into_iter().flatten());
    parts.extend(named.file.as_deref().map(|file| {
        Part::new("run.toml", "the run file, as it is", std::fs::read_to_string(file))
    }));
    parts.extend(named.control.as_deref().map(live::ask_all).into_iter().flatten());
    archive::write(to, &parts).map_err(|why| {
        Failure::Failed(format!("--bundle: `{}` can't be written: {why}", to.display()))
    })?;
    Ok(archive::manifest(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_looked_for() {
        let room = tempfile::tempdir().expect("a directory");
        let to = room.path().join("b.tar.gz");
        let manifest = |package, file, control| {
            let (json, fetch_card, bundle) = (false, false, None);
            let doctor = Doctor { json, fetch_card, bundle, package, file, control };
            let first = vec![Part::had("versions.txt", "versions", "1".to_owned())];
            write(&to, &doctor, first).expect("it can be written")
        };
        let names = |text: &str| -> Vec<String> {
            let first = |line: &str| line.split(' ').next().unwrap_or(line).to_owned();
            text.lines().skip(1).map(first).collect()
        };
        assert_eq!(names(&manifest(None, None, None)), ["MANIFEST", "versions.txt"]);
        let run = manifest(None, None, Some("/nowhere/socket".into()));
        assert_eq!(names(&run).len(), 6, "{run}");
        let lost = |line: &str| line.contains("(missing: ") && line.contains("/nowhere/socket");
        assert_eq!(run.lines().filter(|line| lost(line)).count(), 4, "{run}");
        let file = manifest(None, Some("/nowhere/run.toml".into()), None);
        assert!(
            file.contains("run.toml             the run file, as it is (missing: No such file")
        );
    }
}
