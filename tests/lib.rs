//! Nothing stands here: the package is its tests.
