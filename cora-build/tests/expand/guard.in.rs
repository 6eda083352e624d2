#[flow_handler]
fn innermost(packet: &mut Packet, a: &mut A, b: &mut B) -> Verdict {
    let size = packet.len();
    if size > 100 {
        note();
        a.long += 1;
        a.all += 1;
        if size > 1000 {
            a.jumbo += 1;
            b.touch();
        }
    } else if a.is_on() {
        b.touch();
    } else {
        return Pass;
    }
    Transmit
}

#[flow_handler]
fn arms(packet: &mut Packet, a: &mut A, b: &mut B) -> Verdict {
    match packet.protocol()? {
        6 => a.tcp += 1,
        17 if b.is_on() => a.udp += 1,
        58 => {
            let kind = kind(packet);
            match kind {
                1 => a.echo(),
                _ => Transmit?,
            }
        }
        _ => return Pass,
    }
    Transmit
}

#[flow_handler]
fn scrutinee(packet: &mut Packet, a: &mut A) -> Verdict {
    match a.find(packet) {
        Some(entry) => entry.apply(packet),
        None => a.insert(packet),
    }
}

#[flow_handler]
fn hidden(packet: &mut Packet, a: &mut A, b: &mut B, c: &C) -> Verdict {
    let each = |n: u64| {
        if n > 1 {
            a.add(n);
        }
    };
    (0..3).for_each(each);
    assert!(matches!(c, C { .. }), "{b:?}");
    Transmit
}

#[flow_handler]
fn loops(packet: &mut Packet, a: &mut A, b: &mut B) -> Verdict {
    for n in 0..8 {
        while n < limit() {
            a.add(n);
        }
    }
    let found = 'search: loop {
        if let Some(n) = next() {
            break 'search n;
        }
        b.touch();
    };
    let Some(n) = found else {
        b.miss();
        return Pass;
    };
    while a.more() {
        a.add(n);
    }
    fn helper(a: u64) -> u64 {
        a + 1
    }
    Transmit
}
