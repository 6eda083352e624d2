//! Bodies of every shape: the guards stand where a `return` leaves the handler.
#![deny(warnings, unused_qualifications, elided_lifetimes_in_paths)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
    taken: u64,
}

impl Ports {
    fn take(&mut self) -> Result<u16, Reason> {
        self.taken += 1;
        self.next.checked_add(1).ok_or(TableFull)
    }
}

fn helper(ports: &mut Ports) {
    ports.taken += 1;
}

mod inner {
    use cora::prelude::*;

    #[flow_handler]
    pub(crate) fn empty(_packet: &mut Packet) -> Verdict {
        Pass
    }

    #[flow_handler]
    pub(crate) fn unused(_packet: &mut Packet, _ports: &mut super::Ports) -> Verdict {
        Transmit
    }
}

#[flow_handler]
fn shapes(packet: &mut Packet, ports: &mut Ports) -> Verdict {
    let length = packet.len();
    if length > 1000 {
        ports.taken += 1;
    } else if ports.taken > 7 {
        helper(ports);
    } else if length == 0 {
        return Pass;
    }
    for _ in 0..2 {
        while ports.taken < 2 {
            ports.take()?;
        }
    }
    let found = 'search: loop {
        if length > 5 {
            break 'search ports.take().ok();
        }
        ports.taken += 2;
    };
    let Some(port) = found else {
        ports.next = 0;
        return Drop(TableFull);
    };
    let add = |n: u64| ports.taken += n;
    (0..3).for_each(add);
    match packet.protocol() {
        Ok(6) => ports.next = port,
        Ok(17) if ports.next > 3 => {}
        Ok(_) => return Redirect(Port::OUTSIDE),
        Err(_) => helper(ports),
    }
    assert!(ports.taken < u64::MAX, "{}", ports.next);
    Transmit
}

#[flow_handler]
fn last_expression(packet: &mut Packet, r#ports: &mut Ports) -> Verdict {
    match packet.source() {
        Ok(_) if ports.next == 0 => Transmit,
        Ok(_) => {
            ports.next -= 1;
            Transmit
        }
        Err(reason) => Drop(reason),
    }
}

fn main() {
    let _ = (shapes, last_expression, inner::empty, inner::unused);
}
