//! What a transparent handler may write.

use cora::prelude::*;

const OVER: Reason = Reason::new("over");

#[state(key = FiveTuple, capacity = 16, idle = "1m")]
struct Flow {
    packets: u64,
}

impl Flow {
    fn take(&mut self, length: usize) -> Result<(), Reason> {
        self.packets += 1;
        if length > 9_000 { Err(OVER) } else { Ok(()) }
    }
}

#[flow_handler(transparent)]
fn police(packet: &mut Headers, flows: &mut Table<Flow>) -> Verdict {
    let Ok(key) = packet.five_tuple() else { return Transmit };
    let length = packet.len();
    if let Some(flow) = flows.get_mut(&key) {
        flow.take(length)?;
    } else if flows.insert(key, Flow { packets: 1 }).is_err() {
        return Transmit;
    }
    match packet.ttl() {
        Ok(0) => return Drop(OVER),
        Err(reason) if length > 1_000 => return Drop(reason),
        _ => {}
    }
    let seen = flows.get(&key).ok_or(OVER)?.packets;
    if seen > packet.ttl().map_or(0, u64::from) && packet.protocol().is_ok_and(|it| it == 6) {
        return Transmit;
    }
    Transmit
}

fn main() {}
