/// Passes everything.
#[flow_handler]
fn pass(packet: &mut Packet) -> Verdict {
    Pass
}

/// Translates.
#[flow_handler]
#[expect(clippy::too_many_lines, reason = "a NAT in one piece")]
pub fn nat(
    mut packet: &mut cora::Packet<'_>,
    sessions: &mut Table<Session>,
    ports: &mut nat::PortPool,
    rules: &Rules,
    _seen: &Table<Seen>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    if let Some(session) = sessions.get_mut(&flow) {
        return session.translate(packet);
    }
    if !rules.allow(&flow) {
        return Drop(NotAllowed);
    }
    let port = ports.take()?;
    sessions.insert(flow, Session::new(port))?;
    Transmit
}

/// What a macro makes may name the packet.
#[flow_handler]
fn told(packet: &mut Packet) -> Verdict {
    if !false {
        note!();
    }
    Transmit
}

/// No macro is called, and none of the words is the packet's name.
#[flow_handler]
fn untold(packet: &mut Packet) -> Verdict {
    if 1 != 2 { Drop(NotAllowed) } else { Transmit }
}

/// Asks for no more than headers.
#[flow_handler]
fn count(packet: &mut Headers, seen: &mut Seen) -> Verdict {
    seen.bytes += packet.len();
    Transmit
}

/// Sends a copy.
#[flow_handler]
fn mirror(packet: &mut Packet, a: &mut Table<A>, out: &mut Outbox, b: &B) -> Verdict {
    out.send(packet, Port::INSIDE)?;
    a.get(&key);
    b.judge()
}
