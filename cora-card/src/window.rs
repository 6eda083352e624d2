//! The window: memory of the host, as a region of a PCI device. QEMU's `ivshmem-plain` is one;
//! documentation: `docs/specs/ivshmem-spec.rst` of QEMU.
//!
//! Its file in sysfs maps like any other file. So the NIC half, which gets a file and a length,
//! needs not know where its region lies. Linux Documentation/PCI/sysfs-pci.rst has these files.

use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};

/// Vendor and device of ivshmem.
const IDENTITY: (&str, &str) = ("0x1af4", "0x1110");
/// The device's second region is the memory. Write-combining, so that the processor sees normal
/// memory: device memory allows no unaligned access and no exclusive pairs.
const MEMORY: &str = "resource2_wc";

/// Opens the window of `length` bytes or more, among the devices in this directory of sysfs.
///
/// The error is a sentence.
pub(crate) fn open(devices: &Path, length: usize) -> Result<File, String> {
    let device = find(devices).ok_or("this machine has no window: no ivshmem device on its bus")?;
    let failed = |what: &str, error: &std::io::Error| {
        format!("the window {}/{what} can't be opened: {error}", device.display())
    };
    // The kernel switches memory accesses on when a driver asks for it, and there is no driver.
    std::fs::write(device.join("enable"), "1").map_err(|error| failed("enable", &error))?;
    let open = File::options().read(true).write(true).open(device.join(MEMORY));
    let file = open.map_err(|error| failed(MEMORY, &error))?;
    let has = file.metadata().map_or(0, |it| it.len());
    if has < length as u64 {
        return Err(format!("the window has {has} bytes, and the region {length}"));
    }
    Ok(file)
}

fn find(devices: &Path) -> Option<PathBuf> {
    let is = |device: &Path, file: &str, value: &str| {
        read_to_string(device.join(file)).is_ok_and(|text| text.trim() == value)
    };
    let devices = devices.read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        devices.filter(|it| is(it, "vendor", IDENTITY.0) && is(it, "device", IDENTITY.1)).collect();
    found.sort_unstable();
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory like sysfs, with a device of this identity and a region of so many bytes.
    fn bus(identity: (&str, &str), bytes: usize) -> tempfile::TempDir {
        let bus = tempfile::tempdir().expect("a directory");
        let device = bus.path().join("0000:00:01.0");
        std::fs::create_dir(&device).expect("a directory");
        for (file, text) in [("vendor", identity.0), ("device", identity.1), ("enable", "0")] {
            std::fs::write(device.join(file), format!("{text}\n")).expect("a file");
        }
        std::fs::write(device.join(MEMORY), vec![0; bytes]).expect("a file");
        bus
    }

    #[test]
    fn finds_and_enables_the_window() {
        let bus = bus(IDENTITY, 8192);
        let window = open(bus.path(), 8192).expect("it is there");
        assert_eq!(window.metadata().expect("a file").len(), 8192);
        let enabled = read_to_string(bus.path().join("0000:00:01.0/enable"));
        assert_eq!(enabled.expect("a file"), "1");
    }

    #[test]
    fn says_what_is_wrong_with_a_bus() {
        assert!(open(bus(("0x1af4", "0x1000"), 9).path(), 9).unwrap_err().contains("no window"));
        assert!(open(Path::new("/nowhere"), 9).unwrap_err().contains("no window"));
        let short = open(bus(IDENTITY, 4096).path(), 8192).unwrap_err();
        assert_eq!(short, "the window has 4096 bytes, and the region 8192");
    }
}
