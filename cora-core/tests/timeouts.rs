//! The idle times that RFCs require, and their configuration.

use std::time::Duration;

use cora_core::conntrack::TcpState::{self, *};
use cora_core::key::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use cora_core::plain::Plain;
use cora_core::timeouts::Timeouts;

const OF_TCP: [TcpState; 9] = [
    SynSent,
    SimultaneousOpen,
    SynReceived,
    Established,
    FinWait,
    CloseWait,
    LastAck,
    TimeWait,
    Closed,
];

#[test]
fn a_translator_waits_as_long_as_the_rfcs_say() {
    let times = Timeouts::NAT;
    for state in OF_TCP {
        let least = if state == Established { 7440 } else { 240 };
        assert_eq!(times.seconds(TCP, state, false), least, "RFC 5382, REQ-5: {state}");
        assert_eq!(state.idle(), Duration::from_secs(least.into()));
    }
    for answered in [false, true] {
        assert_eq!(times.seconds(UDP, New, answered), 300, "RFC 4787, REQ-5");
        assert_eq!(times.seconds(SCTP, New, answered), 300);
        assert_eq!(times.seconds(ICMP, New, answered), 60, "RFC 5508, REQ-2");
        assert_eq!(times.seconds(ICMPV6, New, answered), 60);
    }
    assert_eq!(New.idle(), Duration::from_mins(5));
}

#[test]
fn a_firewall_forgets_what_is_not_established_sooner() {
    let times = Timeouts::TRACKING;
    assert_eq!(times.seconds(TCP, Established, true), 7440);
    let others = OF_TCP.into_iter().filter(|state| *state != Established);
    assert!(others.clone().all(|state| times.seconds(TCP, state, true) <= 120));
    assert_eq!((times.seconds(UDP, New, false), times.seconds(UDP, New, true)), (30, 180));
}

#[test]
fn each_time_can_be_set_by_its_name() {
    let text = "established 100\nsyn-sent 1 # short\n\nudp 5\nudp-answered 6\nicmp 7\nother 8\n\
                other-answered 9\ntime-wait\t11";
    let times = Timeouts::NAT.with(text, 7440).unwrap();
    let told = [
        times.seconds(TCP, Established, false),
        times.seconds(TCP, SynSent, false),
        times.seconds(UDP, New, false),
        times.seconds(UDP, New, true),
        times.seconds(ICMPV6, New, true),
        times.seconds(SCTP, New, false),
        times.seconds(SCTP, New, true),
        times.seconds(TCP, TimeWait, false),
        times.seconds(TCP, Closed, false),
    ];
    assert_eq!(told, [100, 1, 5, 6, 7, 8, 9, 11, 240]);
    for state in OF_TCP {
        let times = Timeouts::NAT.with(&format!("{state} 33"), 100).unwrap();
        assert_eq!(times.seconds(TCP, state, false), 33, "{state}");
    }
    assert_eq!(Timeouts::NAT.with("# nothing", 1), Ok(Timeouts::NAT));
}

#[test]
fn what_is_no_time_is_refused_in_words() {
    for (text, why) in [
        ("established", "a line is"),
        ("new 3", "a line is"),
        ("tcp 3", "a line is"),
        ("udp soon", "seconds are"),
        ("udp 70000", "seconds are"),
        ("udp 0", "a time is"),
        ("udp 7441", "a time is"),
    ] {
        let said = Timeouts::NAT.with(text, 7440).unwrap_err();
        assert!(said.starts_with(why), "{text}: {said}");
    }
}

#[test]
fn is_plain() {
    let mut bytes = [0; Timeouts::SIZE];
    Timeouts::TRACKING.put(&mut bytes);
    assert_eq!(Timeouts::get(&bytes), Some(Timeouts::TRACKING));
    assert_eq!(Timeouts::get(&bytes[1..]), None);
    // For any bytes, nothing expires at once.
    let zeros = Timeouts::get(&[0; Timeouts::SIZE]).unwrap();
    assert_eq!(zeros.seconds(TCP, New, false), 1);
}
