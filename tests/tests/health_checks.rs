//! A load balancer that probes its backends by a timer, as a network engineer writes it by the
//! documentation alone: `health-lb`. A model says which probes there are, who is healthy when,
//! where each connection goes, and which ones end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cora::prelude::*;
use cora::testing::{ipv4, tcp, udp};
use cora_tests::cases::{Case, Left, Traffic};
use cora_tests::draw::Draw;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
const SERVICE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 80), 443);
/// Packets to other addresses pass as they are.
const OTHER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 99), 9);

/// Backends 8 and 9 get no connections, and the latter no probes, so that nine are probed.
const BACKENDS: u8 = 10;
const DRAINING: u8 = 8;
const DOWN: u8 = 9;
const PROBES: usize = 8;
/// Backends that die and come back: from the one second until the other.
const DEAD: [(u8, [u64; 2]); 2] = [(3, [12, 31]), (5, [20, 23])];
/// The last connection is over by then.
const BUSY: u64 = 60;
/// All sessions of connections that are over have expired by then.
const END: u64 = BUSY + 304;

fn address(backend: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 0, backend + 1)
}

/// The file of the backends.
fn rows() -> String {
    let row = |number| {
        let mode = match number {
            DRAINING => "drain",
            DOWN => "down",
            _ => "up",
        };
        format!("{number}, {}, 02:00:00:00:01:{number:02x}, {mode}\n", address(number))
    };
    (0..BACKENDS)
        .fold("number, address, mac, mode\n".to_owned(), |rows, number| rows + &row(number))
}

fn lives(backend: u8, second: u64) -> bool {
    DEAD.iter().all(|(dead, [from, until])| *dead != backend || !(from..until).contains(&&second))
}

#[derive(Default)]
struct Check {
    asked_at: u64,
    probes: u64,
    unanswered: u8,
    failures: u64,
}

/// A connection that the balancer knows.
#[derive(Clone, Copy)]
struct Session {
    backend: u8,
    waits_since: u64,
}

/// The fate of a client's packet.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    To(u8),
    Reset,
}

#[derive(Default)]
struct Model {
    next: usize,
    checks: [Check; BACKENDS as usize],
    traffic: Traffic,
    /// Frames that leave: to each backend, from the service, and resets among the latter.
    to: BTreeMap<u8, usize>,
    answers: usize,
    resets: usize,
    /// Connections that went elsewhere since their backend was dead.
    moved: usize,
}

impl Model {
    /// The timer runs, and those that live answer.
    fn tick(&mut self, second: u64) {
        let mut probed = 0;
        for _ in 0..32 {
            if self.next < usize::from(BACKENDS - 1) {
                if probed == PROBES {
                    return;
                }
                probed += 1;
                let (backend, check) = (self.next as u8, &mut self.checks[self.next]);
                (check.asked_at, check.probes) = (second * SECOND, check.probes + 1);
                check.unanswered = check.unanswered.saturating_add(1);
                check.failures += u64::from(check.unanswered == 4);
                if lives(backend, second) {
                    check.unanswered = 0;
                    let at = second * SECOND + MILLISECOND + u64::from(backend);
                    let answer = echo(backend, check.asked_at);
                    self.traffic.at(at, answer, "probe-answer");
                }
            }
            self.next = (self.next + 1) % 32;
        }
    }

    /// The backend of a new connection.
    fn choose(&self, flow: &FiveTuple) -> u8 {
        let willing: Vec<u8> =
            (0..DRAINING).filter(|it| self.checks[usize::from(*it)].unanswered <= 3).collect();
        willing[(sip_hash([0; 2], &flow.words()) % willing.len() as u64) as usize]
    }
}

/// The answer to a probe of this time.
fn echo(backend: u8, asked_at: u64) -> Vec<u8> {
    let mut message = [0; 16];
    message[4..6].copy_from_slice(&(0xc000 + u16::from(backend)).to_be_bytes());
    message[8..].copy_from_slice(&asked_at.to_be_bytes());
    let sum = checksum::internet(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    ipv4(address(backend).octets(), SERVICE.0.octets(), 64, protocol::ICMP, &message)
}

/// A client with one connection after the other from one port, until its time is over.
struct Client {
    address: Ipv4Addr,
    port: u16,
    is_tcp: bool,
    /// The seconds in which it sends.
    during: [u64; 2],
    /// It ends its connection.
    closes: bool,
    session: Option<Session>,
    is_open: bool,
}

impl Client {
    fn new(number: u16, draw: &mut Draw) -> Self {
        let begin = 1 + draw.below(30);
        let during = [begin, begin + 5 + draw.below(BUSY - begin - 10)];
        let address = Ipv4Addr::new(198, 51, 100, (number % 200) as u8 + 1);
        let [is_tcp, closes] = [draw.below(3) > 0, draw.below(3) > 0];
        Self {
            address,
            port: 2_000 + number,
            is_tcp,
            during,
            closes,
            session: None,
            is_open: false,
        }
    }

    fn flow(&self) -> FiveTuple {
        FiveTuple {
            source: self.address.into(),
            destination: SERVICE.0.into(),
            source_port: self.port,
            destination_port: SERVICE.1,
            protocol: if self.is_tcp { protocol::TCP } else { protocol::UDP },
        }
    }

    /// Sends a packet to the service; `wants` says that it waits for an answer.
    fn send(&mut self, at: u64, frame: Vec<u8>, wants: bool, model: &mut Model) -> Fate {
        if let Some(Session { backend, waits_since }) = &mut self.session {
            let check = &model.checks[usize::from(*backend)];
            let is_suspect = wants && *waits_since > 0 && at - *waits_since >= SECOND;
            if !is_suspect || check.unanswered <= 3 {
                if is_suspect || wants && *waits_since == 0 {
                    *waits_since = at;
                }
                *model.to.entry(*backend).or_default() += 1;
                model.traffic.at(at, frame, "transmit");
                return Fate::To(*backend);
            }
            model.moved += 1;
            self.session = None;
            if self.is_open {
                self.is_open = false;
                (model.resets, model.answers) = (model.resets + 1, model.answers + 1);
                model.traffic.at(at, frame, "redirect");
                return Fate::Reset;
            }
        }
        let backend = model.choose(&self.flow());
        self.session = Some(Session { backend, waits_since: at });
        *model.to.entry(backend).or_default() += 1;
        model.traffic.at(at, frame, "transmit");
        Fate::To(backend)
    }

    /// The backend answers.
    fn answered(&mut self, at: u64, frame: Vec<u8>, model: &mut Model) {
        self.session.as_mut().expect("it was sent there").waits_since = 0;
        model.answers += 1;
        model.traffic.at(at, frame, "transmit");
    }

    /// A second of its life. Steps of it are a microsecond apart.
    fn live(&mut self, second: u64, offset: u64, model: &mut Model) {
        let at = |step: u64| second * SECOND + 10 * MILLISECOND + offset + step * 1_000;
        let here = (self.address, self.port);
        if !self.is_tcp {
            let fate = self.send(at(0), udp(here, SERVICE, b"question"), true, model);
            let Fate::To(backend) = fate else { panic!("datagrams are not reset") };
            if lives(backend, second) {
                self.answered(at(1), udp((address(backend), SERVICE.1), here, b"answer"), model);
            }
            return;
        }
        let segment =
            |flags, data| TcpSegment { flags, seq: 7, ack: 9, data, ..TcpSegment::default() };
        let (syn, ack, fin) = (TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN);
        let is_last = self.closes && second + 1 == self.during[1];
        let mut script = Vec::new();
        if !self.is_open {
            script.push((segment(syn, &b""[..]), segment(syn | ack, &b""[..])));
        }
        script.push((segment(ack, &b"question"[..]), segment(ack, &b"answer"[..])));
        if is_last {
            script.push((segment(fin | ack, b""), segment(fin | ack, b"")));
        }
        for (step, (asked, answer)) in (0..).step_by(3).zip(script) {
            match self.send(at(step), tcp(here, SERVICE, &asked), true, model) {
                Fate::To(backend) if lives(backend, second) => {
                    let from = (address(backend), SERVICE.1);
                    self.answered(at(step + 1), tcp(from, here, &answer), model);
                    let thanks = tcp(here, SERVICE, &segment(ack, b""));
                    self.send(at(step + 2), thanks, false, model);
                    self.is_open = true;
                }
                // It tries again a second later.
                _ => return,
            }
        }
        if is_last {
            self.is_open = false;
        }
    }
}

/// Checks frames that left against the model.
fn judge(left: &Left, model: &Model) {
    let (mut to, mut probes) = (BTreeMap::new(), BTreeMap::new());
    let (mut answers, mut resets) = (0, 0);
    for frame in &left.frames {
        let mut copy = frame.clone();
        let packet = Packet::new(&mut copy, Meta::default());
        assert!(checksum::verify(&packet), "{frame:?}");
        if packet.icmp_query() == Some(Query::Question) {
            let at = u64::from_be_bytes(frame[42..50].try_into().expect("eight bytes"));
            let times: &mut Vec<u64> = probes.entry(frame[33] - 1).or_default();
            times.push(at / SECOND);
        } else if packet.source() == Ok(SERVICE.0.into()) {
            answers += 1;
            resets += usize::from(packet.tcp_flags().is_some_and(TcpFlags::rst));
        } else if packet.destination() != Ok(OTHER.0.into()) {
            let backend = frame[33] - 1;
            assert_eq!(frame[..6], [2, 0, 0, 0, 1, backend], "to the backend's own card");
            *to.entry(backend).or_default() += 1;
        }
    }
    assert_eq!(to, model.to);
    assert_eq!([answers, resets], [model.answers, model.resets]);
    assert!(!probes.contains_key(&DOWN) && probes.len() == 9);
    let mut turns = Vec::new();
    for (backend, mut times) in probes {
        times.sort_unstable();
        assert_eq!(times.len() as u64, model.checks[usize::from(backend)].probes, "{backend}");
        assert!(times.windows(2).all(|it| (1..=2).contains(&(it[1] - it[0]))), "{backend}");
        turns.extend(times);
    }
    turns.sort_unstable();
    let seconds = (1..=END).flat_map(|second| [second; PROBES]);
    assert!(turns.into_iter().eq(seconds), "eight probes each second");
}

#[test]
fn connections_go_to_backends_that_answer_probes() {
    let mut draw = Draw(5);
    let mut model = Model::default();
    let mut clients: Vec<_> = (0..400).map(|number| Client::new(number, &mut draw)).collect();
    // The clock begins before the first tick.
    let stranger = udp(([198, 51, 100, 250], 9), OTHER, b"not for the service");
    model.traffic.at(SECOND / 2, stranger, "transmit");
    for second in 1..=END {
        model.tick(second);
        for (offset, client) in (0..).step_by(20_000).zip(&mut clients) {
            if (client.during[0]..client.during[1]).contains(&second) {
                client.live(second, offset, &mut model);
            }
        }
    }
    assert!(model.moved > 20 && model.resets > 10, "{} {}", model.moved, model.resets);
    let failures = model.checks.iter().map(|check| check.failures);
    assert!(failures.eq([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), "one was dead for long enough");

    let files = [("Backend", rows()), ("Service", SERVICE.0.to_string())];
    let traffic = std::mem::take(&mut model.traffic);
    let left = Case::new("health-lb", &files, traffic).on_one_shard().holds();
    judge(&left, &model);
    // Those that were never closed go on; all others have expired.
    let mut sessions = [0; BACKENDS as usize];
    for session in clients.iter().filter(|it| it.is_open).filter_map(|it| it.session) {
        sessions[usize::from(session.backend)] += 1;
    }
    let checks = left.state["states"]["Health"]["checks"].as_array().expect("a list");
    for (check, (model, sessions)) in checks.iter().zip(model.checks.iter().zip(sessions)) {
        let told = ["asked_at", "probes", "failures", "sessions"].map(|name| check[name].as_u64());
        assert_eq!(told, [model.asked_at, model.probes, model.failures, sessions].map(Some));
    }
}
