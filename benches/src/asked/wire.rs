//! A client and a server in namespaces of their own.

use std::io::{Error, Result};
use std::net::Ipv4Addr;

use cora_traffic::namespace::Namespace;

use crate::link::set_up;

/// The client's address.
pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 1];
/// The interface of client and server.
pub(crate) const WIRE: &str = "wire";
/// The interfaces of a third namespace: to the client, and to the server.
pub(crate) const BETWEEN: [&str; 2] = ["out", "in"];
/// The cards' addresses: the client's, and the server's.
const CARDS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// Makes namespaces with these names for the client and for the server, which has this address.
/// They are joined by a veth pair, or each with the namespace between them. The error names a
/// facility that this machine lacks.
pub(crate) fn ends(
    labels: [&str; 2],
    server: Ipv4Addr,
    between: Option<&Namespace>,
) -> Result<[Namespace; 2]> {
    let made = |label| Namespace::create(label).map_err(Error::other);
    let ends = [made(labels[0])?, made(labels[1])?];
    match between {
        Some(between) => {
            for (end, port) in ends.iter().zip(BETWEEN) {
                end.join(WIRE, between, port).map_err(Error::other)?;
                between.send_plain_frames(port).map_err(Error::other)?;
                between.ip(&format!("link set dev {port} up")).map_err(Error::other)?;
            }
        }
        None => ends[0].join(WIRE, &ends[1], WIRE).map_err(Error::other)?,
    }
    let addresses = [Ipv4Addr::from(CLIENT), server];
    for (end, space) in ends.iter().enumerate() {
        set_up(space, WIRE, CARDS[end])?;
        let words = [
            format!("address add {}/24 dev {WIRE}", addresses[end]),
            // Cora answers no ARP.
            format!("neighbour add {} lladdr {} dev {WIRE}", addresses[1 - end], CARDS[1 - end]),
        ];
        words.iter().try_for_each(|it| space.ip(it)).map_err(Error::other)?;
    }
    Ok(ends)
}
