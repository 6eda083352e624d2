//! The firewall as a program of its own. Handler and states are the library's, so that other
//! programs can have them, too, as the example `chain` does.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

cora::app!(firewall::firewall);
