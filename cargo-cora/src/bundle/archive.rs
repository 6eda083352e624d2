//! The files of a bundle as a compressed archive, with a manifest.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::Part;

/// The directory that all files of the archive are in.
const ROOT: &str = "cora-bundle";

/// Writes all of them to a file that is there when it is whole.
///
/// # Errors
/// When the file can't be written, or something else than a file has its name.
pub(super) fn write(to: &Path, parts: &[Part]) -> io::Result<()> {
    if to.metadata().is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("it is no file"));
    }
    let beside = to.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(beside)?;
    packed(&mut file, parts)?;
    file.as_file().sync_all()?;
    file.persist(to)?;
    Ok(())
}

fn packed(into: impl Write, parts: &[Part]) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut archive = Builder::new(GzEncoder::new(into, Compression::default()));
    let mut add = |name: &str, content: &str| {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(now);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("{ROOT}/{name}"), content.as_bytes())
    };
    add("MANIFEST", &manifest(parts))?;
    for Part { name, content, .. } in parts {
        if let Ok(content) = content {
            add(name, content)?;
        }
    }
    archive.into_inner()?.finish()?.flush()
}

/// A line for each file, with its description, and the reason if it is missing.
pub(super) fn manifest(parts: &[Part]) -> String {
    let mut text = format!("{ROOT}/1\n{:<20} this list\n", "MANIFEST");
    for Part { name, what, content } in parts {
        // Text in memory takes anything.
        let _written = write!(text, "{name:<20} {what}");
        if let Err(why) = content {
            let why = why.trim().lines().map(str::trim).collect::<Vec<_>>().join("; ");
            let _written = write!(text, " (missing: {why})");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn parts() -> [Part; 3] {
        let content = |text: &str| Ok(text.to_owned());
        [
            Part { name: "versions.txt", what: "versions", content: content("1\n") },
            Part { name: "run.toml", what: "the run file", content: Err("a\n b\n".to_owned()) },
            Part { name: "run/status.json", what: "the run", content: content("{}") },
        ]
    }

    fn unpacked(path: &Path) -> BTreeMap<String, String> {
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(path).expect("a file")));
        let mut all = BTreeMap::new();
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("whole");
            let name = entry.path().expect("a name").display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("text");
            all.insert(name, text);
        }
        all
    }

    #[test]
    fn the_manifest_names_each_file_and_each_that_is_missing() {
        let room = tempfile::tempdir().expect("a directory");
        let path = room.path().join("b.tar.gz");
        write(&path, &parts()).expect("it can be written");
        // A second bundle takes the place of the first.
        write(&path, &parts()).expect("it can be written");
        let files = unpacked(&path);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["cora-bundle/MANIFEST", "cora-bundle/run/status.json", "cora-bundle/versions.txt"]
        );
        assert_eq!(files["cora-bundle/run/status.json"], "{}");
        assert_eq!(
            files["cora-bundle/MANIFEST"],
            "cora-bundle/1\n\
             MANIFEST             this list\n\
             versions.txt         versions\n\
             run.toml             the run file (missing: a; b)\n\
             run/status.json      the run\n"
        );
    }

    #[test]
    fn what_is_no_file_is_left_alone_and_nothing_stays_behind() {
        let room = tempfile::tempdir().expect("a directory");
        assert!(write(room.path(), &parts()).is_err());
        assert!(write(Path::new("/dev/null"), &parts()).is_err());
        assert!(write(&room.path().join("nowhere/b.tar.gz"), &parts()).is_err());
        assert_eq!(std::fs::read_dir(room.path()).expect("a directory").count(), 0);
    }
}
