//! The second cargo's target directory, profile and features.

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
    fn features_go_along_as_the_manifest_spells_them() {
        let variables =
            [("CARGO_FEATURE_DEEP_CHECK", "1"), ("CARGO_CFG_FEATURE", "deep-check,nic")];
        let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(features(variables), "deep-check,nic");
        assert_eq!(features([]), "nic");
    }
}
