//! The environment of a cargo inside a build script.

use std::ffi::OsString;

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
pub(crate) fn cleaned(
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
}
