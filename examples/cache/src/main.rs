//! # cache: memcached's hot items, answered before they reach it
//!
//! The program of the handlers in `lib.rs`.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

cora::app!(cache::cache, cache::write, cache::see, cache::observe, cache::read);
