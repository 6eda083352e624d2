//! Hooks and timers are ordinary functions, which tests call.

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", durable, on_expire)]
struct Session {
    port: u16,
}

#[state(singleton, durable)]
#[derive(Default)]
pub struct Pool {
    last: u16,
}

#[state(commutative)]
struct Ends {
    all: Sum,
}

/// Keeps the port that came back last.
#[on_expire]
pub fn give_back(session: &Ended<Session>, pool: &mut Pool, ends: &mut Ends) {
    pool.last = session.entry.port;
    ends.all.add(1);
}

#[every("1s")]
fn forget(tick: &Tick, pool: &mut Pool, out: &mut Outbox) {
    pool.last = tick.at as u16;
    let _ = out.send_frame(&[0; 60], Port::OUTSIDE);
}

fn main() {
    let mut pool = Pool::default();
    let source = Address::v4([10, 0, 0, 1]);
    let key = FiveTuple {
        source,
        destination: source,
        source_port: 1,
        destination_port: 2,
        protocol: protocol::UDP,
    };
    let ended = Ended { key, entry: Session { port: 7 }, at: 5 };
    let mut ends = cora::testing::replica();
    give_back(&ended, &mut pool, &mut ends);
    assert_eq!(pool.last, 7);
    let mut out = cora::testing::outbox();
    forget(&Tick { at: 9 }, &mut pool, &mut out);
    assert_eq!((pool.last, out.len()), (9, 1));
}
