//! The connection tracker with whole conversations, and with invalid ones.

mod packet_support;

use cora_core::conntrack::TcpState::{self, *};
use cora_core::packet::Query;
use cora_core::plain::Plain;
use cora_core::state::table::Direction::{self, Original, Reply};
use cora_core::verdict::Reason;
use cora_core::verdict::reasons::{BadTcpState, NotAllowed};
use packet_support::*;

const F: u8 = 1;
const S: u8 = 2;
const R: u8 = 4;
const P: u8 = 8;
const A: u8 = 16;
const U: u8 = 32;

fn frame(flags: u8) -> Vec<u8> {
    ethernet(&ip((A4, B4), TCP, &tcp((A4, B4), (1, 2), flags, b"")))
}

fn advance(state: &mut TcpState, flags: u8, direction: Direction) -> Result<(), Reason> {
    state.advance(&packet(&mut frame(flags)), direction)
}

fn open(flags: u8) -> Result<TcpState, Reason> {
    TcpState::open(&packet(&mut frame(flags)))
}

fn pick_up(flags: u8) -> Result<TcpState, Reason> {
    TcpState::pick_up(&packet(&mut frame(flags)))
}

/// Steps through a conversation from its first state, with the state expected after each segment.
#[track_caller]
fn walk(mut state: TcpState, steps: &[(Direction, u8, TcpState)]) {
    for (number, (direction, flags, expected)) in steps.iter().enumerate() {
        assert_eq!(advance(&mut state, *flags, *direction), Ok(()), "step {number} from {state}");
        assert_eq!(state, *expected, "step {number}");
    }
}

/// The steps of a handshake.
const HANDSHAKE: [(Direction, u8, TcpState); 3] =
    [(Original, S, SynSent), (Reply, S | A, SynReceived), (Original, A, Established)];

#[track_caller]
fn walk_on(steps: &[(Direction, u8, TcpState)]) {
    walk(New, &HANDSHAKE);
    walk(Established, steps);
}

#[test]
fn a_connection_opens_talks_and_closes() {
    walk_on(&[
        (Original, P | A, Established),
        (Reply, A, Established),
        (Reply, P | A | U, Established),
        (Original, F | A, FinWait),
        (Reply, A, CloseWait),
        (Reply, F | A, LastAck),
        (Original, A, TimeWait),
    ]);
    assert!(TimeWait.is_closed() && !LastAck.is_closed());
    assert!([New, Established, FinWait, CloseWait].into_iter().all(TcpState::goes_on));
    assert!(
        ![SynSent, SimultaneousOpen, SynReceived, LastAck, TimeWait, Closed]
            .into_iter()
            .any(TcpState::goes_on)
    );
}

#[test]
fn a_handshake_with_retransmits() {
    walk(
        New,
        &[
            (Original, S, SynSent),
            (Original, S, SynSent),
            (Reply, S | A, SynReceived),
            (Original, S, SynReceived),
            (Reply, S | A, SynReceived),
            (Reply, A, SynReceived),
            (Original, A, Established),
            (Reply, S | A, Established),
            (Original, A, Established),
        ],
    );
}

#[test]
fn congestion_notification_is_negotiated_in_the_handshake() {
    walk(New, &[(Original, S | 0xc0, SynSent), (Reply, S | A | 0x40, SynReceived)]);
}

#[test]
fn a_simultaneous_open() {
    walk(
        New,
        &[
            (Original, S, SynSent),
            (Reply, S, SimultaneousOpen),
            (Reply, S, SimultaneousOpen),
            (Original, S, SimultaneousOpen),
            (Original, S | A, SynReceived),
            (Reply, S | A, SynReceived),
            (Original, A, Established),
        ],
    );
    walk(SimultaneousOpen, &[(Reply, S | A, SynReceived), (Original, A, Established)]);
}

#[test]
fn a_half_closed_connection_still_carries_data() {
    walk_on(&[
        (Original, F | A, FinWait),
        (Reply, A, CloseWait),
        (Reply, P | A, CloseWait),
        (Original, A, CloseWait),
        (Reply, F | P | A, LastAck),
        (Original, A, TimeWait),
    ]);
}

#[test]
fn any_ack_counts_as_that_of_the_fin() {
    // Without sequence numbers, data that crosses the FIN is indistinguishable from its ACK.
    for (first, second) in [(Original, Reply), (Reply, Original)] {
        for acks in [first, second] {
            walk_on(&[(first, F | A, FinWait), (acks, A, CloseWait)]);
            walk_on(&[(first, F | A, FinWait), (second, F | A, LastAck), (acks, A, TimeWait)]);
        }
    }
}

#[test]
fn closing_with_retransmits_from_either_end() {
    for (first, second) in [(Original, Reply), (Reply, Original)] {
        walk_on(&[
            (first, F | A, FinWait),
            (second, F | A, LastAck),
            (first, F | A, LastAck),
            (second, F | A, LastAck),
            (first, A, TimeWait),
            (second, F | A, TimeWait),
            (first, A, TimeWait),
        ]);
    }
}

#[test]
fn a_closed_connection_opens_again() {
    for closed in [TimeWait, Closed] {
        walk(closed, &HANDSHAKE);
        let mut state = closed;
        assert_eq!(advance(&mut state, S, Reply), Err(BadTcpState), "the other end can't");
        assert_eq!(state, closed);
    }
}

#[test]
fn a_reset_closes_whatever_was_open() {
    for state in all().into_iter().filter(|state| *state != New) {
        for direction in [Original, Reply] {
            for flags in [R, R | A] {
                walk(state, &[(direction, flags, Closed)]);
            }
        }
    }
    assert!(Closed.is_closed());
}

#[test]
fn only_a_syn_moves_on_from_new() {
    for flags in 0..=255_u8 {
        let mut state = New;
        let opens = flags & (S | A | F | R) == S;
        assert_eq!(advance(&mut state, flags, Original).is_ok(), opens, "{flags:#x}");
        assert_eq!(state, if opens { SynSent } else { New });
        assert_eq!(advance(&mut New.clone(), flags, Reply), Err(BadTcpState), "{flags:#x}");
    }
}

#[test]
fn flags_that_no_stack_sends_are_refused_everywhere() {
    let never = [
        0,
        S | F,
        S | F | A,
        S | R,
        S | R | A,
        F | R,
        F | R | A,
        F,
        F | P | U,
        P | U,
        S | F | R | P | A | U,
    ];
    for before in all() {
        for direction in [Original, Reply] {
            for flags in never {
                let mut state = before;
                let result = advance(&mut state, flags, direction);
                assert_eq!(result, Err(BadTcpState), "{before} {flags:#x}");
                assert_eq!(state, before);
            }
        }
    }
}

#[test]
fn what_comes_out_of_order_is_refused() {
    let refused = [
        (SynSent, S | A, Original),
        (SynSent, A, Original),
        (SynSent, F | A, Original),
        (SynSent, F | A, Reply),
        (SynReceived, S, Reply),
        (Established, S, Reply),
        (LastAck, S, Reply),
    ];
    for (before, flags, direction) in refused {
        let mut state = before;
        assert_eq!(advance(&mut state, flags, direction), Err(BadTcpState), "{before}");
        assert_eq!(state, before);
    }
}

#[test]
fn what_the_other_end_will_settle_passes_without_effect() {
    for before in [SynReceived, Established, FinWait, CloseWait, LastAck] {
        walk(before, &[(Original, S, before), (Original, S | A, before), (Reply, S | A, before)]);
    }
    // An end with an old half-open connection answers a SYN with an ACK for it.
    walk(SynSent, &[(Reply, A, SynSent), (Original, R, Closed), (Original, S, SynSent)]);
}

#[test]
fn a_syn_alone_opens_and_an_ack_is_picked_up_by_choice() {
    for flags in [S, S | 0xc0, S | P] {
        assert_eq!((open(flags), pick_up(flags)), (Ok(SynSent), Ok(SynSent)), "{flags:#x}");
    }
    for flags in [A, P | A, A | U, A | 0xc0] {
        assert_eq!((open(flags), pick_up(flags)), (Err(BadTcpState), Ok(Established)));
    }
    for flags in [0, S | A, S | F, S | R, R, R | A, F, F | A, F | P | U, F | P | A, 0xff] {
        assert_eq!(open(flags), Err(BadTcpState), "{flags:#x}");
        assert_eq!(pick_up(flags), Err(BadTcpState), "{flags:#x}");
    }
}

/// As in Linux's `valid_new`, for messages with an identifier.
#[test]
fn a_question_of_icmp_opens_and_nothing_else_of_it() {
    for (ends, questions, answers, errors) in [
        (FOUR, &[8, 13][..], &[0, 14][..], &[3, 4, 5, 11, 12][..]),
        (SIX, &[128], &[129], &[1, 2, 3, 4]),
    ] {
        let protocol = if ends.0.is_v4() { ICMP } else { ICMPV6 };
        let frame = |kind| ethernet(&ip(ends, protocol, &icmp(ends, kind, [0, 7, 0, 1], &[0; 64])));
        for open in [TcpState::open, TcpState::pick_up] {
            for kind in questions {
                assert_eq!(open(&packet(&mut frame(*kind))), Ok(New), "{kind}");
            }
            for kind in answers.iter().chain(errors).chain(&[9, 17, 137, 200]) {
                assert_eq!(open(&packet(&mut frame(*kind))), Err(NotAllowed), "{kind}");
            }
        }
        for (kinds, wrong, right) in [(questions, Reply, Original), (answers, Original, Reply)] {
            for kind in kinds {
                let mut frame = frame(*kind);
                let packet = packet(&mut frame);
                assert_eq!(New.clone().advance(&packet, wrong), Err(NotAllowed), "{kind}");
                assert_eq!(New.clone().advance(&packet, right), Ok(()), "{kind}");
            }
        }
    }
}

/// A first fragment shows the message, a later one does not.
#[test]
fn a_fragment_opens_what_it_shows() {
    let message = icmp(FOUR, 8, [0, 7, 0, 1], &[0; 64]);
    let first = right(with(ethernet(&ip(FOUR, ICMP, &message)), 20, 0x20), 14);
    assert_eq!(TcpState::open(&packet(&mut first.clone())), Ok(New));
    let later = right(with(first, 21, 5), 14);
    assert_eq!(TcpState::open(&packet(&mut later.clone())), Err(NotAllowed));
    let segment = right(with(frame(S), 20, 0x20), 14);
    assert_eq!(TcpState::open(&packet(&mut segment.clone())), Err(BadTcpState));
}

#[test]
fn another_connection_begins_where_one_is_over() {
    let reopens = |state: TcpState, flags| state.reopens(&packet(&mut frame(flags)));
    for state in all() {
        let over = matches!(state, TimeWait | Closed);
        assert_eq!(reopens(state, S), over, "{state}");
        for flags in [0, A, S | A, F | A, R, S | F] {
            assert!(!reopens(state, flags), "{state} {flags:#x}");
        }
    }
    let mut datagram = ethernet(&ip(FOUR, UDP, &udp(FOUR, (1, 2), b"x")));
    assert!(!Closed.reopens(&packet(&mut datagram)));
}

#[test]
fn other_transports_change_nothing() {
    for (name, mut frame) in plain_frames((A4, B4), b"x") {
        if name != "tcp" {
            let is_answer = packet(&mut frame).icmp_query() == Some(Query::Answer);
            let direction = if is_answer { Reply } else { Original };
            if !is_answer {
                assert_eq!(TcpState::open(&packet(&mut frame)), Ok(New), "{name}");
            }
            for mut state in all() {
                let before = state;
                assert_eq!(state.advance(&packet(&mut frame), direction), Ok(()));
                assert_eq!(state, before);
            }
        }
    }
    // An error about a connection is not a segment of it.
    let mut about = error(R4, &frame(S)[14..], 999);
    assert_eq!(New.clone().advance(&packet(&mut about), Reply), Ok(()));
}

/// All states, by their encodings.
fn all() -> Vec<TcpState> {
    (0..=u8::MAX).filter_map(|byte| TcpState::get(&[byte])).collect()
}

#[test]
fn is_plain_and_refuses_unknown_bytes() {
    assert_eq!(all().len(), 10);
    assert_eq!(TcpState::default(), New);
    for state in all() {
        let mut byte = [0xff];
        state.put(&mut byte);
        assert_eq!(TcpState::get(&byte), Some(state));
        assert_eq!(format!("{state}"), state.name());
    }
    assert_eq!(TcpState::get(&[10]), None);
    assert_eq!(TcpState::get(&[]), None);
}
