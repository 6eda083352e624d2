//! The programs that a measurement runs: built in `<target>/measure`, so that the user's own are
//! left alone.

use std::path::{Path, PathBuf};

use crate::arguments::Measure;
use crate::failure::Failure;
use crate::package::{Build, Package};

/// Linux on the NIC's machine. Rust brings its C library, and a linker for it.
const LINUX_ON_NIC: &str = "aarch64-unknown-linux-musl";

/// Cargo's variable for the linker of that target.
const LINKER: (&str, &str) = ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");

/// A package and where its programs come to be.
pub(super) struct Programs<'a> {
    package: &'a Package,
    profile: &'a str,
    room: PathBuf,
}

impl<'a> Programs<'a> {
    pub(super) fn new(package: &'a Package, arguments: &'a Measure) -> Result<Self, Failure> {
        let room = package.target_directory()?.join("measure");
        std::fs::create_dir_all(&room).map_err(|error| {
            Failure::Failed(format!("`{}` can't be made: {error}", room.display()))
        })?;
        Ok(Self { package, profile: &arguments.profile, room })
    }

    /// The directory for all that a measurement makes.
    pub(super) fn room(&self) -> &Path {
        &self.room
    }

    /// The package.
    pub(super) fn package(&self) -> &Package {
        self.package
    }

    /// With notes of packets' accesses, and all instruments. It is put aside: the next build takes
    /// its place.
    pub(super) fn traced(&self) -> Result<PathBuf, Failure> {
        let built = self.build(&Build { features: &["cora/trace"], ..self.plain("host-only") })?;
        let copy = self.room.join("traced");
        std::fs::copy(&built, &copy)
            .map_err(|error| Failure::Failed(format!("`{}`: {error}", copy.display())))?;
        Ok(copy)
    }

    /// For this machine, with all of it at the host.
    pub(super) fn host(&self) -> Result<PathBuf, String> {
        self.build(&self.plain("host-only")).map_err(|failure| failure.to_string())
    }

    /// For the NIC's machine, with all of it at the NIC.
    pub(super) fn nic(&self) -> Result<PathBuf, String> {
        if !is_installed(LINUX_ON_NIC) {
            return Err(format!(
                "the target {LINUX_ON_NIC} is not installed: rustup target add {LINUX_ON_NIC}"
            ));
        }
        let build =
            Build { target: Some(LINUX_ON_NIC), variables: &[LINKER], ..self.plain("nic-only") };
        self.build(&build).map_err(|failure| failure.to_string())
    }

    fn plain(&self, plan: &'static str) -> Build<'_> {
        Build {
            profile: self.profile,
            features: &["cora/measure"],
            plan: Some(plan),
            target: None,
            room: Some(&self.room),
            variables: &[],
        }
    }

    fn build(&self, build: &Build<'_>) -> Result<PathBuf, Failure> {
        self.package.build_as(build)
    }
}

/// Whether Rust can build for a target.
fn is_installed(target: &str) -> bool {
    let mut asked = std::process::Command::new("rustc");
    let told = asked.args(["--print", "target-libdir", "--target", target]).output();
    told.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir())
}
