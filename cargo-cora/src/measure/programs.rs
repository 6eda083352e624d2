//! The programs that a measurement runs: built in `<target>/measure`, so that the user's own are
//! left alone.

use std::path::{Path, PathBuf};

use crate::arguments::Measure;
use crate::failure::Failure;
use crate::package::{Build, Package};
use crate::static_linux::NIC;

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
        NIC.check()?;
        let build =
            Build { target: Some(NIC.name), variables: &[NIC.linker], ..self.plain("nic-only") };
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
