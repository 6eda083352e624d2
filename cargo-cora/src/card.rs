//! `card`: builds a network function for a card, one file that needs no other, and gives the
//! commands for both ends.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::Card;
use crate::failure::{Failure, Outcome};
use crate::package::{self, Build, Package};
use crate::static_linux::NIC;
use crate::tell::tell;

pub(crate) fn run(card: &Card) -> Outcome {
    let package = Package::of(&card.package)?;
    let plan = package::plan(card.plan.as_deref())?;
    let program = program(&package, &card.profile, plan.as_deref())?;
    tell(told(&program, &card.package))?;
    Ok(ExitCode::SUCCESS)
}

/// The package's program for a card, with its NIC half.
pub(crate) fn program(
    package: &Package,
    profile: &str,
    plan: Option<&str>,
) -> Result<PathBuf, Failure> {
    NIC.check().map_err(Failure::Failed)?;
    package.build_as(&Build {
        profile,
        features: &["nic"],
        plan,
        target: Some(NIC.name),
        room: None,
        variables: &[NIC.linker],
    })
}

fn told(program: &Path, package: &str) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let bytes = program.metadata().map_or(0, |it| it.len());
    let (file, mib) = (program.display(), bytes.div_ceil(1 << 20));
    format!(
        "{file}: a program for aarch64 Linux that needs no other file ({mib} MiB)\n\
         copy it to the card, and type there, with the interface that leads to the host and the host's address:\n  \
         ./{name} card --host IFACE,MAC --live inside=PORT,outside=PORT\n\
         and here, with the interface that leads to the card and the card's address:\n  \
         cargo cora run {package} --nic card:ethernet --card IFACE,MAC --live card\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_to_type_at_both_ends() {
        let told = told(Path::new("/nowhere/nat"), "examples/nat");
        assert!(told.contains("./nat card --host IFACE,MAC --live"), "{told}");
        assert!(told.contains("cargo cora run examples/nat --nic card:ethernet --card"), "{told}");
    }
}
