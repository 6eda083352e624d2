#[message]
struct Count {
    #[key]
    word: Word,
    by: u32,
}

#[message(udp, port = 7000)]
enum Ask {
    Read { #[key] row: u64 },
    Write(#[key] u64, [u8; 4]),
}

#[message(udp, parse, key = One)]
struct Line {
    text: Bytes<80>,
}

#[message]
struct Tuple {
    text: Bytes<80>,
}

#[flow_handler]
fn ask(
    ask: Ask,
    rows: &mut Table<Row>,
    counts: &mut Outbox<Count>,
    envelope: &Envelope,
    lines: &mut Outbox<Line>,
    out: &mut Outbox,
) -> Verdict {
    Done
}

#[flow_handler]
fn line(line: &Line, lines: &mut Outbox<Line>) -> Verdict {
    Done
}

#[flow_handler]
fn watch(packet: &mut Packet, counts: &mut Outbox<Count>) -> Verdict {
    Transmit
}

#[every("1s")]
fn tell(tick: &Tick, lines: &mut Outbox<Line>) {}
