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
