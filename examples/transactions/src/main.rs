//! # transactions: the program of the handlers in `lib.rs`
//!
//! A client takes the messages in datagrams from there, too.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

cora::app!(transactions::receive, transactions::participant, transactions::coordinator);
