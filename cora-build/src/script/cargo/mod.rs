//! Cargo, asked from within a build script: where the source of a dependency is.
//!
//! Only Cargo knows that for every kind of dependency: a path, a workspace's, a registry's, a
//! renamed one. It is asked twice at most, and neither time does it write or download anything:
//!
//! 1. `cargo metadata --no-deps` tells the dependencies as the manifest states them, with
//!    inheritance from the workspace resolved. That is sufficient for paths.
//! 2. `cargo metadata` resolves all versions, for registries and git.

pub(crate) mod environment;
mod library;
mod metadata;

pub use library::{Dependencies, Library, Unfound};
