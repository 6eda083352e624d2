/// Gives the port back.
#[on_expire]
pub fn give_back(session: &Ended<Session>, ports: &mut PortPool, limits: &Limits) {
    ports.give(session.entry.port);
}

#[every("1m30s")]
fn probe(tick: &Tick, health: &mut Health, out: &mut Outbox) {
    let _ = out.send_frame(&health.question(tick.at), Port::INSIDE);
}
