//! # ledger: writes first, and asks the host afterwards
//!
//! For the oracle, not to copy. Each packet is counted three times, in a table, in a group's table
//! and in a sum, before every fifth one of a connection reaches for a singleton. On a NIC under a
//! split that is a punt with all three counts to take back; one that stays is counted twice. The
//! number that a connection gets depends on the order of the packets of all connections.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A connection's account.
#[state(key = FiveTuple, reply, capacity = 1 << 17, idle = "5m")]
struct Account {
    packets: u64,
    bytes: u64,
    receipt: u64,
}

/// All accounts of one inside host.
#[state(key = InsideAddress, capacity = 16_384, idle = "10m")]
struct Customer {
    packets: u64,
}

/// The purchase.
#[state(singleton)]
#[derive(Default)]
struct Ledger {
    receipts: u64,
    bytes: u64,
}

/// All that was seen.
#[state(commutative)]
struct Totals {
    packets: Sum,
    longest: Max,
}

/// Counts the packets of each inside host.
#[flow_handler]
fn customers(packet: &mut Packet, customers: &mut Table<Customer>, totals: &mut Totals) -> Verdict {
    totals.packets.add(1);
    let key = InsideAddress(packet.inside_address()?);
    match customers.get_mut(&key) {
        Some(customer) => customer.packets += 1,
        None => customers.insert(key, Customer { packets: 1 })?,
    }
    Transmit
}

/// Writes down every packet, and every fifth one in the ledger too.
#[flow_handler]
fn accounts(
    packet: &mut Packet,
    accounts: &mut Table<Account>,
    totals: &mut Totals,
    ledger: &mut Ledger,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let bytes = packet.len() as u64;
    totals.longest.raise(bytes);
    let Some((_, account)) = accounts.find_mut(&flow) else {
        accounts.insert(flow, Account { packets: 1, bytes, receipt: 0 })?;
        return Transmit;
    };
    account.packets += 1;
    account.bytes += bytes;
    // So that the packet is taken back as well.
    packet.set_source_port(flow.source_port ^ 1)?;
    if account.packets % 5 == 0 {
        ledger.receipts += 1;
        ledger.bytes += account.bytes;
        account.receipt = ledger.receipts;
    }
    Transmit
}

cora::app!(customers, accounts);
