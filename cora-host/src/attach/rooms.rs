//! Many NIC halves of a program in one process, which an agent gives orders.
//!
//! Orders come on the wire's ring of a region that both share, the page. The regions of each half
//! come by a socket, since a process that may open nothing gets a file in no other way.

use std::collections::HashMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use cora_runtime::link::region::{HashSeed, Identity, Region, RegionLayout, sleep};
use cora_runtime::link::ring::{Consumer, MIN_RING_BYTES, Producer, SharedMemory};
use cora_runtime::node::Order;

use crate::attach::letter::{self, Came};
use crate::memory::map;
use crate::{Program, RunError, SharedFutex};

/// Bytes of each ring of a page. Orders are short.
const RING_BYTES: usize = if MIN_RING_BYTES > 1 << 14 { MIN_RING_BYTES } else { 1 << 14 };
/// The longest sleep.
const SLEEP: Duration = Duration::from_millis(100);

/// The numbers of orders.
const BEGIN: u16 = 1;
const TURN: u16 = 2;
const LEAVE: u16 = 3;
const END: u16 = 4;

/// The layout of a page.
pub(crate) const LAYOUT: RegionLayout = RegionLayout::known([RING_BYTES; 4]);

/// The identity of a page.
pub(crate) const fn identity() -> Identity {
    Identity { plan: 0, generation: 0, seed: HashSeed(0), resident: false, afresh: false }
}

/// Writes an order; returns whether there was room for it.
pub(crate) fn write(to: &mut Producer<SharedMemory>, order: Order) -> bool {
    let (kind, room, length) = match order {
        Order::Begin { room, length, .. } => (BEGIN, room, length),
        Order::Turn { room } => (TURN, room, 0),
        Order::Leave { room } => (LEAVE, room, 0),
        Order::End => (END, 0, 0),
    };
    let written = to.push(kind, &[&room.to_le_bytes(), &(length as u64).to_le_bytes()]).is_ok();
    to.publish();
    written
}

/// An order, but for the file that it is about.
fn read(kind: u16, bytes: &[u8]) -> Option<Order> {
    let (room, length) = bytes.split_first_chunk::<2>()?;
    let room = u16::from_le_bytes(*room);
    let length = u64::from_le_bytes(length.try_into().ok()?);
    Some(match kind {
        BEGIN => Order::Begin { room, fd: -1, length: usize::try_from(length).ok()? },
        TURN => Order::Turn { room },
        LEAVE => Order::Leave { room },
        END => Order::End,
        _ => return None,
    })
}

/// Runs the halves that the agent tells of, until it ends them.
pub(crate) fn serve(program: &Program, page: i32, socket: i32) -> Result<(), RunError> {
    let failed = |errno: rustix::io::Errno| RunError::System {
        what: "the orders of an agent",
        cause: errno.into(),
    };
    let words = map::given_memory(page, LAYOUT.bytes()).map_err(failed)?;
    let region = Region::known(words, &LAYOUT, identity()).map_err(RunError::Region)?;
    let mut orders = Consumer::new(region.rings().wire_in);
    let (mut files, mut held) = (HashMap::new(), None);
    let mut buffer = [0; 64];
    let halves = program.native_halves.ok_or(RunError::SharesNoProcess)?;
    halves(&mut || {
        // The file of the order before is mapped by now.
        held = None;
        loop {
            match orders.pop(&mut buffer) {
                Ok(Some(popped)) => {
                    orders.release();
                    let order = read(popped.kind, buffer.get(..popped.len).unwrap_or_default());
                    let Some(order) = order else { return Order::End };
                    let Order::Begin { room, length, .. } = order else { return order };
                    let Some(file) = file_of(room, socket, &mut files) else { return Order::End };
                    let fd = held.insert(file).as_raw_fd();
                    return Order::Begin { room, fd, length };
                }
                Ok(None) => {}
                Err(_) => return Order::End,
            }
            let bell = region.nic_bell(SharedFutex);
            if sleep(&bell, SLEEP, || orders.is_empty_indeed()).is_err() {
                return Order::End;
            }
        }
    });
    Ok(())
}

/// The file of the regions for this room, which the agent sent before its order.
fn file_of(room: u16, socket: i32, files: &mut HashMap<u16, OwnedFd>) -> Option<OwnedFd> {
    loop {
        if let Some(file) = files.remove(&room) {
            return Some(file);
        }
        match letter::receive::<u16>(map::borrowed_file(socket)?) {
            Came::Packet(room, file) => {
                files.insert(room, file.into_iter().next()?);
            }
            Came::NotYet => {}
            Came::Closed | Came::Nonsense => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        let (file, words) = crate::shared_memory(LAYOUT.bytes()).expect("memory");
        let region = Region::create(words, &LAYOUT, identity()).expect("a page");
        let mut to = Producer::new(region.rings().wire_in);
        let mut from = Consumer::new(region.rings().wire_in);
        let all = [
            Order::Begin { room: 700, fd: -1, length: 5 << 30 },
            Order::Turn { room: 3 },
            Order::Leave { room: u16::MAX },
            Order::End,
        ];
        let mut buffer = [0; 64];
        for order in all {
            assert!(write(&mut to, order));
            let popped = from.pop(&mut buffer).expect("sound").expect("an order");
            assert_eq!(read(popped.kind, &buffer[..popped.len]), Some(order));
        }
        assert_eq!(read(9, &[0; 10]), None);
        assert_eq!(read(TURN, &[0; 9]), None);
        let turns = std::iter::repeat_n(Order::Turn { room: 1 }, 10_000);
        let taken = turns.take_while(|order| write(&mut to, *order)).count();
        assert!((100..10_000).contains(&taken), "{taken}: it is full at some time");
        drop(file);
    }
}
