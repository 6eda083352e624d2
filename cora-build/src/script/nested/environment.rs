//! The environment of a cargo inside a build script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Target directory and profile of the outer cargo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The target directory.
    pub(super) target: PathBuf,
    /// The profile's name for `--profile`.
    pub(super) profile: String,
}

impl Layout {
    /// From a path within `OUT_DIR`: `<target>[/<triple>]/<profile>/build/<package>/out/<file>`.
    /// Cargo's variable `PROFILE` is only `debug` or `release`, for all profiles.
    pub(super) fn of(file: &Path, triple: Option<&str>) -> Option<Self> {
        let build = file.ancestors().find(|path| path.file_name().is_some_and(|n| n == "build"))?;
        let profile = build.parent()?;
        let above = profile.parent()?;
        let is_triple =
            above.file_name().is_some_and(|name| Some(name) == triple.map(AsRef::as_ref));
        let target = if is_triple { above.parent()? } else { above };
        let profile = match profile.file_name()?.to_str()? {
            "debug" => "dev",
            name => name,
        };
        Some(Self { target: target.to_path_buf(), profile: profile.to_owned() })
    }
}

/// The enabled features, for `--features`.
pub(super) fn features(variables: impl IntoIterator<Item = (String, String)>) -> String {
    // `CARGO_CFG_FEATURE` has them in the manifest's spelling, `CARGO_FEATURE_*` mangled.
    variables
        .into_iter()
        .find(|(name, _)| name == "CARGO_CFG_FEATURE")
        .map_or_else(|| "nic".to_owned(), |(_, value)| value)
}

/// Cargo's variables that the second cargo needs: locations, and the user's settings.
const KEPT: [&str; 8] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRIES_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
];

/// The user's settings for profiles and for the NIC's target, which also apply to the NIC half.
const KEPT_SETTINGS: [&str; 2] = ["CARGO_PROFILE_", "CARGO_TARGET_AARCH64_UNKNOWN_NONE_"];

/// Variables only for a build script, or for the host's compiler.
const REMOVED: [&str; 14] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTC_LINKER",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "OUT_DIR",
    "TARGET",
    "HOST",
    "PROFILE",
    "OPT_LEVEL",
    "DEBUG",
    "LD_LIBRARY_PATH",
];

/// The environment of the second cargo.
pub(super) fn cleaned(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let begins = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
    variables
        .into_iter()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_") {
                return begins(&name, &KEPT) || begins(&name, &KEPT_SETTINGS);
            }
            name != "CARGO" && !name.starts_with("DEP_") && !REMOVED.contains(&name.as_ref())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_read_from_out_dir() {
        let of = |path: &str, triple: Option<&str>| {
            let layout = Layout::of(Path::new(path), triple)?;
            Some((layout.target.to_str()?.to_owned(), layout.profile))
        };
        let wanted = |target: &str, profile: &str| Some((target.to_owned(), profile.to_owned()));
        let linux = Some("x86_64-unknown-linux-gnu");
        assert_eq!(
            of("/p/target/debug/build/nat-1/out/nic-image", linux),
            wanted("/p/target", "dev")
        );
        assert_eq!(
            of("/p/target/x86_64-unknown-linux-gnu/fast/build/nat-1/out/nic-image", linux),
            wanted("/p/target", "fast")
        );
        assert_eq!(
            of("/p/build/t/release/build/nat-1/out/i", None),
            wanted("/p/build/t", "release")
        );
        assert_eq!(of("/elsewhere/out/i", linux), None);
    }

    #[test]
    fn the_second_cargo_does_not_see_the_first() {
        let before = [
            "PATH",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CORA_PLAN",
            "RUSTUP_TOOLCHAIN",
            "CARGO_PKG_NAME",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WORKSPACE_WRAPPER",
            "OUT_DIR",
            "CARGO",
            "CARGO_FEATURE_NIC",
            "LD_LIBRARY_PATH",
            "DEP_Z_ROOT",
            "CARGO_PROFILE_DEV_LTO",
        ];
        let variables = before.map(|name| (OsString::from(name), OsString::from("1")));
        let after: Vec<_> = cleaned(variables)
            .into_iter()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        let kept = [
            "PATH",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CORA_PLAN",
            "RUSTUP_TOOLCHAIN",
            "CARGO_PROFILE_DEV_LTO",
        ];
        assert_eq!(after, kept);
    }

    #[test]
    fn features_go_along_as_the_manifest_spells_them() {
        let variables =
            [("CARGO_FEATURE_DEEP_CHECK", "1"), ("CARGO_CFG_FEATURE", "deep-check,nic")];
        let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(features(variables), "deep-check,nic");
        assert_eq!(features([]), "nic");
    }
}
