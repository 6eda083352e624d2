//! The base of a program's unit tests: `cora::testing`.

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000_000, idle = "1m")]
struct Session {
    packets: u64,
}

#[state(key = SourceAddress, capacity = 100_000, idle = "1m")]
struct Source {
    packets: u64,
}

/// Returns the resident bytes of this process.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// A module of tests makes new tables in each test: a thousand of them, of a million entries.
#[test]
fn thousands_of_tables_cost_what_stands_in_them() {
    let before = resident();
    for number in 0..1_500_u16 {
        let mut sessions = cora::testing::table::<Session>();
        let mut sources = cora::testing::table::<Source>();
        let flow = FiveTuple {
            source: Address::v4([10, 0, 0, 1]),
            destination: Address::v4([203, 0, 113, 1]),
            source_port: number,
            destination_port: 443,
            protocol: 6,
        };
        let packets = number.into();
        assert!(sessions.insert(flow, Session { packets }).is_ok());
        assert!(sources.insert(SourceAddress(flow.source), Source { packets }).is_ok());
        assert_eq!(sessions.get(&flow).map(|session| session.packets), Some(packets));
        assert_eq!(sources.get(&SourceAddress(flow.source)).map(|it| it.packets), Some(packets));
    }
    let taken = resident() - before;
    assert!(taken < 600 << 20, "{} MiB", taken >> 20);
}
