//! # token: only requests with a right token reach a CoAP server
//!
//! The program of the handler in `lib.rs`.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

cora::app!(token::authenticate);
