#[derive(Clone, Copy, Plain)]
struct Range {
    first: u16,
    last: u16,
}

#[derive(Clone, Copy, Plain)]
struct Mark(u32, bool);

#[derive(Clone, Copy, Plain)]
enum Mode {
    Off,
    Slow = 1 << 4,
    Fast,
}

#[derive(Clone, Copy, Plain)]
enum Event {
    Ended,
    Grant { to: u32, count: u16 } = 4,
    Note(Bytes<16>),
    Pair(u8, bool),
}
