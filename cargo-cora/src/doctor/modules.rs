//! The modules that a card's kernel needs for its wire, taken from the kernel's package. A package
//! has no list of dependencies, which an installation makes: each module names its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Drivers of an emulated card's interface.
const WANTED: [&str; 2] = ["virtio_pci", "virtio_net"];
/// The field in a module that names those it needs.
const DEPENDS: &[u8] = b"\0depends=";

/// Copies the modules of an unpacked kernel's package to `to`, named in the order of loading.
pub(super) fn copy(package: &Path, to: &Path) -> Result<(), String> {
    let roots = ["lib/modules", "usr/lib/modules"].map(|place| package.join(place));
    let kernels = roots.iter().flat_map(|root| root.read_dir()).flatten();
    let kernel = kernels.filter_map(Result::ok).map(|it| it.path()).next();
    let kernel = kernel.ok_or("the kernel's package has no modules")?;
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let built_in = fs::read_to_string(kernel.join("modules.builtin")).unwrap_or_default();
    let built_in = built_in.lines().map(|line| name_of(Path::new(line))).collect();
    let mut files = BTreeMap::new();
    find(&kernel, &mut files);
    let mut load = Load { files, built_in, order: Vec::new() };
    for wanted in WANTED {
        load.need(wanted)?;
    }
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for (number, (name, module)) in load.order.iter().enumerate() {
        let path = to.join(format!("{number:02}-{name}.ko"));
        fs::write(&path, module).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// All modules below a directory, by name.
fn find(directory: &Path, files: &mut BTreeMap<String, PathBuf>) {
    for entry in directory.read_dir().into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        // Links lead to headers, which are not in the package.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find(&path, files),
            Ok(kind) if kind.is_file() && path.to_string_lossy().contains(".ko") => {
                files.insert(name_of(&path), path);
            }
            _ => {}
        }
    }
}

/// The name of the module in a file. The kernel takes `-` and `_` for the same.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    name.split(".ko").next().unwrap_or_default().to_owned()
}

struct Load {
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    order: Vec<(String, Vec<u8>)>,
}

impl Load {
    /// Adds a module behind those that it needs.
    fn need(&mut self, name: &str) -> Result<(), String> {
        if self.built_in.contains(name) || self.order.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let path =
            self.files.get(name).ok_or_else(|| format!("the kernel has no module {name}"))?;
        let module = read(path)?;
        for other in depends(&module) {
            self.need(&other)?;
        }
        self.order.push((name.to_owned(), module));
        Ok(())
    }
}

/// The bytes of a module, unpacked.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if path.extension().is_some_and(|it| it == "xz") {
        let unpacked = Command::new("xz").arg("-dc").arg(path).output();
        let unpacked = unpacked.map_err(|error| failed(&format!("xz: {error}")))?;
        return if unpacked.status.success() {
            Ok(unpacked.stdout)
        } else {
            Err(failed(&"xz failed"))
        };
    }
    fs::read(path).map_err(|error| failed(&error))
}

/// The modules that this one names.
fn depends(module: &[u8]) -> Vec<String> {
    let at = module.windows(DEPENDS.len()).position(|bytes| bytes == DEPENDS);
    let value = at.and_then(|at| module[at + DEPENDS.len()..].split(|byte| *byte == 0).next());
    let value = String::from_utf8_lossy(value.unwrap_or_default()).replace('-', "_");
    value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_behind_those_that_they_need() {
        let room = tempfile::tempdir().expect("a directory");
        let kernel = room.path().join("lib/modules/6.1");
        let module = |name: &str, depends: &str| {
            let path = kernel.join("kernel").join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, format!("code\0depends={depends}\0license=GPL\0")).expect("a file");
        };
        module("net/virtio_net.ko", "virtio,net-failover");
        module("net/net_failover.ko", "failover");
        module("core/failover.ko", "");
        module("virtio/virtio.ko", "virtio_ring");
        module("virtio/virtio_pci.ko", "virtio");
        let to = room.path().join("modules");
        let copied = || copy(room.path(), &to);
        assert_eq!(copied().unwrap_err(), "the kernel has no module virtio_ring");
        fs::write(kernel.join("modules.builtin"), "kernel/drivers/virtio/virtio-ring.ko\n")
            .expect("a file");
        copied().expect("all is there");
        let mut names: Vec<_> =
            to.read_dir().expect("a directory").filter_map(Result::ok).collect();
        names.sort_by_key(fs::DirEntry::path);
        let names: Vec<_> =
            names.iter().map(|it| it.file_name().into_string().expect("text")).collect();
        assert_eq!(
            names,
            [
                "00-virtio.ko",
                "01-virtio_pci.ko",
                "02-failover.ko",
                "03-net_failover.ko",
                "04-virtio_net.ko"
            ]
        );
        assert!(copy(Path::new("/nowhere"), &to).unwrap_err().contains("no modules"));
    }

    #[test]
    fn a_module_that_names_none_needs_none() {
        assert!(depends(b"code").is_empty() && depends(b"\0depends=\0").is_empty());
        assert_eq!(depends(b"\0depends=a-b,c"), ["a_b", "c"]);
    }
}
