//! The card's first file system: an archive in memory that its kernel unpacks before it starts
//! `/init`. The format is cpio's "newc" (Linux Documentation/driver-api/early-userspace/
//! buffer-format.rst).

use std::fmt::Write as _;
use std::io::{self, Write};

/// File types and permissions: `stat.h`.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const TERMINAL: u32 = 0o020_600;
/// The console's device: major and minor number.
const CONSOLE: (u32, u32) = (5, 1);
/// The same of the device that takes everything.
const NULL: (u32, u32) = (1, 3);

/// Writes the archive of a card: its first process is this program; with modules for the kernel.
pub(super) fn write(out: &mut impl Write, program: &[u8], modules: &[Vec<u8>]) -> io::Result<()> {
    let mut archive = Archive { out, entries: 0 };
    archive.add("dev", DIRECTORY, (0, 0), &[])?;
    // Without it the first process has no output.
    archive.add("dev/console", TERMINAL, CONSOLE, &[])?;
    archive.add("dev/null", TERMINAL, NULL, &[])?;
    archive.add("init", PROGRAM, (0, 0), program)?;
    archive.add("modules", DIRECTORY, (0, 0), &[])?;
    for (number, module) in modules.iter().enumerate() {
        archive.add(&format!("modules/{number:02}"), FILE, (0, 0), module)?;
    }
    archive.add("TRAILER!!!", 0, (0, 0), &[])
}

struct Archive<'a, W> {
    out: &'a mut W,
    entries: u32,
}

impl<W: Write> Archive<'_, W> {
    fn add(&mut self, name: &str, mode: u32, device: (u32, u32), data: &[u8]) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let bytes = u32::try_from(data.len()).map_err(too_long)?;
        let name_bytes = u32::try_from(name.len() + 1).map_err(too_long)?;
        self.entries += 1;
        // Number, mode, user, group, links, time, bytes, major and minor of the file system and of
        // the device, bytes of the name, and a sum that nobody checks.
        let fields =
            [self.entries, mode, 0, 0, 1, 0, bytes, 0, 0, device.0, device.1, name_bytes, 0];
        let mut header = "070701".to_owned();
        for field in fields {
            write!(header, "{field:08X}").map_err(io::Error::other)?;
        }
        header += name;
        header.push('\0');
        self.padded(header.as_bytes())?;
        self.padded(data)
    }

    /// Each part begins at a multiple of four bytes.
    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 3][..bytes.len().wrapping_neg() % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_a_console_and_a_program() {
        let mut archive = Vec::new();
        write(&mut archive, b"a program", &[b"a module".to_vec()]).expect("memory");
        assert!(archive.len().is_multiple_of(4));
        // Read again by the format's rules.
        let (mut at, mut found) = (0, Vec::new());
        while at < archive.len() {
            let field = |number: usize| {
                let digits = &archive[at + 6 + 8 * number..][..8];
                usize::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap()
            };
            assert_eq!(&archive[at..at + 6], b"070701");
            let (mode, bytes, name) = (field(1), field(6), field(11));
            let begin = at + 110;
            let data = (begin + name).next_multiple_of(4);
            let name = String::from_utf8_lossy(&archive[begin..begin + name - 1]).into_owned();
            found.push((name, mode, archive[data..data + bytes].to_vec()));
            at = (data + bytes).next_multiple_of(4);
        }
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            ["dev", "dev/console", "dev/null", "init", "modules", "modules/00", "TRAILER!!!"]
        );
        assert_eq!((found[3].1, found[3].2.as_slice()), (0o100_755, &b"a program"[..]));
    }
}
