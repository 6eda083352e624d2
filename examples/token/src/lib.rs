//! # token: only requests with a right token reach a CoAP server
//!
//! A request has a token in its CBOR payload, which the service's key signs (a JSON web token, RFC
//! 7519, by HS256). One without a token, or with a wrong one, is dropped before the server, and
//! counted by the client's address. The server's answers pass, and all that is not for it.
//!
//! | module | contents |
//! | --- | --- |
//! | `coap` | the payload of a request |
//! | `cbor` | items in it |
//! | `secret` | the key, and the check of a signature |
//!
//! Try it:  `cargo cora run token --live inside=packet:eth1,outside=packet:eth0,pass=opposite
//! --config Secret=secret.txt`, with the server behind `inside` and its clients behind `outside`.
//!
//! Expect:  the whole program on the NIC: a forged request costs the host nothing.
#![cfg_attr(target_os = "none", no_std)]

pub mod cbor;
pub mod coap;
pub mod secret;

use cora::prelude::*;

use cbor::Items;
use coap::Message;
use secret::Secret;

pub const NO_TOKEN: Reason = Reason::new("no-token");
pub const BAD_TOKEN: Reason = Reason::new("bad-token");

/// A client that was refused.
#[state(key = SourceAddress, capacity = 65_536, idle = "10m")]
#[derive(Default)]
pub struct Client {
    /// Requests without a token.
    pub without: u64,
    /// Requests with a wrong one.
    pub wrong: u64,
}

/// Only requests with a right token reach the server.
#[flow_handler]
pub fn authenticate(packet: &mut Packet, secret: &Secret, clients: &mut Table<Client>) -> Verdict {
    if packet.from_inside() || packet.is_icmp_error() {
        return Pass;
    }
    match packet.destination() {
        Ok(destination) if secret.is_at(destination) => {}
        // A head that can't be read here may be one that the server reads.
        Err(why) if why != NotIp => return Drop(why),
        _ => return Pass,
    }
    let flow = match packet.five_tuple() {
        Ok(flow) => flow,
        Err(why) if why == NoFlow => return Pass,
        // A fragment may be one of a request, and nobody sees its port.
        Err(why) => return Drop(why),
    };
    if flow.protocol != protocol::UDP || !secret.is_port(flow.destination_port) {
        return Pass;
    }
    let Err(why) = check(packet.payload(), secret) else { return Pass };
    // Without room for the client, the request is dropped all the same.
    if let Ok(client) = clients.get_or_insert(SourceAddress(flow.source), Client::default()) {
        client.without += u64::from(why == NO_TOKEN);
        client.wrong += u64::from(why == BAD_TOKEN);
    }
    Drop(why)
}

/// Whether the datagram may reach the server.
///
/// # Errors
/// `no-token`, `bad-token`.
pub fn check(datagram: &[u8], secret: &Secret) -> Result<(), Reason> {
    match Message::of(datagram).ok_or(NO_TOKEN)? {
        Message::Empty => Ok(()),
        Message::Full { payload } if secret.has_signed(token(payload)?) => Ok(()),
        Message::Full { .. } => Err(BAD_TOKEN),
    }
}

/// The token in a map with names of text: the only one, so that the server can't read another.
fn token(payload: &[u8]) -> Result<&[u8], Reason> {
    let mut items = Items::of(payload);
    let mut token = None;
    for _ in 0..items.map().ok_or(NO_TOKEN)? {
        let unreadable = if token.is_none() { NO_TOKEN } else { BAD_TOKEN };
        if items.text().ok_or(unreadable)? != b"token" {
            items.skip().ok_or(unreadable)?;
        } else if token.replace(items.text().ok_or(BAD_TOKEN)?).is_some() {
            return Err(BAD_TOKEN);
        }
    }
    let token = token.ok_or(NO_TOKEN)?;
    if items.is_end() { Ok(token) } else { Err(BAD_TOKEN) }
}
