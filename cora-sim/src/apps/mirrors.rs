//! Sessions whose answers come from another host than was asked: the key of one flow's answers is
//! the reverse of another flow's own key, as when two hosts behind a NAT talk to each other.

use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::table::Direction;
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{address, op, op_of};
use crate::traffic::Wishes;

plain! {
    struct Session {
        asked: u64,
        answered: u64,
    }
}
keyed!(Session, FiveTuple, 64, true);

plain! {
    #[derive(Default)]
    struct Opened {
        sessions: u64,
    }
}

impl Singleton for Opened {
    const NAME: &'static str = "Opened";
}
stored!(Opened, Singleton, Pinned);

/// Returns the tuple of the answers to `flow`. Hosts ask those with higher numbers; another one
/// below the asked host gets the answer. So no two flows have the same key, and many have that of
/// another's answers in reverse. `None`: this host may not ask that one.
fn answer(flow: &FiveTuple) -> Option<FiveTuple> {
    let ([.., asks], [network, .., asked]) = (flow.source.as_v4()?, flow.destination.as_v4()?);
    if network != 10 {
        return Some(flow.reversed());
    }
    let gets = (asks < asked).then(|| address([0, (asks + 1) % asked], true))?;
    Some(FiveTuple { destination: gets, ..flow.reversed() })
}

fn handle<R: Reach>(
    packet: &Packet<'_>,
    sessions: &mut Table<Session>,
    opened: &mut Opened,
) -> Verdict {
    let flow = packet.five_tuple()?;
    if let Some((direction, session)) = sessions.find_mut(&flow) {
        match direction {
            Direction::Original => session.asked += 1,
            Direction::Reply => session.answered += 1,
        }
        if op_of(packet) == op::CLOSE {
            sessions.remove(&flow);
        }
        return Transmit;
    }
    // A side that runs this without the packet's session drops it.
    let answer = answer(&flow).ok_or(reasons::NotAllowed)?;
    reach!(R, Opened);
    opened.sessions += 1;
    sessions.insert_with_reply(flow, answer, Session { asked: 1, answered: 0 })?;
    Transmit
}

program! {
    struct Mirrors named "mirrors" by FiveTuple {
        host opened: Pinned<Opened>,
        travels sessions: Wrapped<Session>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.sessions.table(), self.opened.value())
    }
}

impl<V: Variant> SimApp for Mirrors<V> {
    const WISHES: Wishes = Wishes {
        flows: 16,
        hosts: 5,
        ops: &[op::CLOSE, op::NOTHING],
        expires: true,
        crosses: true,
    };

    fn refuse(&mut self, seed: u64) {
        self.sessions.refuse(seed);
    }
}
