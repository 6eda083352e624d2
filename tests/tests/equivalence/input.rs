//! Captures in the form that a program needs: with replies to its translated addresses.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cora::prelude::{Address, Packet};
use cora_tests::captures::{self, Capture};
use cora_tests::{altered, fragments, handshakes, tell, workshop};
use cora_traffic::is_inside;

use crate::way::{Left, Way};

/// Returns the captures of all programs, and prints the origin of the real ones.
pub(crate) fn all_captures() -> &'static [Capture] {
    static MADE: OnceLock<Vec<Capture>> = OnceLock::new();
    MADE.get_or_init(|| {
        let room = workshop::room("captures");
        let (real, said) = captures::real(&room.join("real"));
        tell(&format!("the oracle's captures: generated ones, and {said}"));
        captures::generated(&room).into_iter().chain(real).collect()
    })
}

/// The capture and configuration of a program, and its result on the host alone.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) capture: PathBuf,
    /// The sources of read-mostly states, as on the command line.
    pub(crate) configurations: Vec<String>,
    /// The service that a balancer spreads.
    service: Option<Ipv4Addr>,
    program: &'static str,
    pub(crate) expected: Left,
    /// The expected output, in the form of [`Self::comparable`].
    pub(crate) comparable: PathBuf,
}

impl Input {
    /// Makes the program's own version of a capture, in `room`.
    pub(crate) fn prepare(program: &'static str, capture: &Capture, room: &Path) -> Self {
        let (name, path) = (capture.name.as_str(), &capture.path);
        let baseline = |name: &str, capture: &Path, configurations: &[String]| {
            let output = room.join(format!("{name}-expected.pcap"));
            Way::baseline().run(program, capture, configurations, output)
        };
        let learn = |capture: &Path, configurations: &[String]| {
            baseline(&format!("{name}-learnt"), capture, configurations).output
        };
        let (mut input, mut service) = (path.clone(), None);
        let configured = |(state, text): &(&str, &str)| {
            let path = room.join(format!("{name}-{state}.txt"));
            write(&path, text);
            format!("{state}={}", path.display())
        };
        let mut configurations: Vec<String> =
            configured_by(program).iter().map(configured).collect();
        let balanced = |spread| {
            let path = room.join(format!("{name}-backends.txt"));
            write(&path, &captures::backends(spread));
            vec![format!("Backends={}", path.display())]
        };
        match program {
            "nat" | "carrier-nat" => {
                for round in 0..2 {
                    let learnt = learn(&input, &[]);
                    input = room.join(format!("{name}-{round}.pcap"));
                    captures::readdress(path, &learnt, &input);
                }
            }
            "chain" => {
                let spread = captures::service(path);
                let backends = balanced(spread);
                for round in 0..2 {
                    let learnt = comparable(program, &learn(&input, &backends), Some(spread));
                    input = room.join(format!("{name}-{round}.pcap"));
                    captures::readdress(path, &learnt, &input);
                }
                let learnt = learn(&input, &backends);
                let readdressed =
                    std::mem::replace(&mut input, room.join(format!("{name}-replies.pcap")));
                captures::reply_from_backends(&readdressed, &learnt, spread, &input);
                (configurations, service) = (backends, Some(spread));
            }
            "balancer" => {
                let spread = captures::service(path);
                let backends = balanced(spread);
                let learnt = learn(path, &backends);
                input = room.join(format!("{name}-replies.pcap"));
                captures::reply_from_backends(path, &learnt, spread, &input);
                (configurations, service) = (backends, Some(spread));
            }
            "nat64" => {
                input = room.join(format!("{name}-ipv6.pcap"));
                altered::of_ipv6_alone(path, &input);
                let (learnt, answered) =
                    (learn(&input, &[]), room.join(format!("{name}-answered.pcap")));
                altered::answer_nat64(path, &learnt, &input, &answered);
                input = answered;
            }
            "syn-proxy" => {
                let knocks = room.join(format!("{name}-knocks.pcap"));
                handshakes::knocks(path, &knocks);
                let answered = learn(&knocks, &[]);
                input = room.join(format!("{name}-connections.pcap"));
                handshakes::connections(path, &answered, &input);
            }
            "fragments" => {
                input = room.join(format!("{name}-parts.pcap"));
                fragments::in_parts(path, &input);
            }
            "vxlan" => {
                input = room.join(format!("{name}-tunnelled.pcap"));
                altered::tunnelled(path, &input);
            }
            "gateway" => {
                input = room.join(format!("{name}-routed.pcap"));
                altered::to_a_router(path, &input);
            }
            "bridge" => {
                input = room.join(format!("{name}-stations.pcap"));
                altered::with_stations(path, &input);
            }
            _ => {}
        }
        let expected = baseline(name, &input, &configurations);
        let comparable = comparable(program, &expected.output, service);
        let name = name.to_owned();
        let input =
            Self { name, capture: input, configurations, service, program, expected, comparable };
        input.replies_are_translated(program);
        input
    }

    /// Returns the output of a run in a form that can be compared with the expected one.
    pub(crate) fn comparable(&self, left: &Left) -> PathBuf {
        comparable(self.program, &left.output, self.service)
    }

    /// Asserts that the baseline translates replies; otherwise a comparison with it shows little.
    fn replies_are_translated(&self, program: &str) {
        // `carrier-nat` has many public addresses.
        let to_public = |packet: &Packet<'_>| match packet.destination().map(|to| to.as_v4()) {
            Ok(Some([192, 0, 2, last])) => last == 1 || program == "carrier-nat",
            _ => false,
        };
        let from_backend = |packet: &Packet<'_>| {
            packet.five_tuple().is_ok_and(|flow| captures::is_backend(flow.source))
        };
        let before = |so: &dyn Fn(&Packet<'_>) -> bool| captures::count(&self.capture, so);
        let after = |so: &dyn Fn(&Packet<'_>) -> bool| captures::count(&self.expected.output, so);
        let (replies, untranslated) = match program {
            "nat" | "carrier-nat" | "chain" => (before(&to_public), after(&to_public)),
            "balancer" => (before(&from_backend), after(&from_backend)),
            "nat64" => {
                let to_public = |packet: &Packet<'_>| packet.destination() == Ok(altered::PUBLIC);
                (before(&to_public), after(&to_public))
            }
            "fragments" => {
                let later = |packet: &Packet<'_>| packet.fragment().is_some_and(|it| it.offset > 0);
                let (came, left) = (before(&later), after(&later));
                assert!(left > 20 && left < came, "{}: {left} of {came} fragments", self.name);
                return;
            }
            "syn-proxy" => {
                let servers_were_asked = after(&handshakes::is_opening);
                assert!(servers_were_asked > 300, "{}: {servers_were_asked}", self.name);
                return;
            }
            _ => return,
        };
        let of = format!("{program}, {}", self.name);
        assert!(replies > 0, "{of}: there are no replies");
        assert!(
            untranslated * 10 <= replies,
            "{of}: {untranslated} of {replies} replies left as they came"
        );
        if ["nat", "carrier-nat", "chain"].contains(&program) {
            let answers = after(&|packet| {
                packet.is_ipv4() && packet.destination().is_ok_and(|to| is_inside(ip(to)))
            });
            assert!(answers * 2 > replies, "{of}: {answers} of {replies} replies went inside");
        }
    }
}

/// Returns the state and text of a configuration under which a program refuses some packets of
/// these captures; its default lets all of them pass.
fn configured_by(program: &str) -> &'static [(&'static str, &'static str)] {
    match program {
        "policer" => &[("Rates", "rate 0.0.0.0/0 16 4096\nrate ::/0 64 8192\n")],
        "port-scan" => &[("Limits", "threshold 4\nwindow 60\nblock 20\n")],
        "connection-limiter" => &[("Limit", "connections 3\nwindow 30\n")],
        "gateway" => &[("Interface", altered::INTERFACES), ("Route", altered::ROUTES)],
        "ids" => &[("Signatures", SIGNATURES)],
        _ => &[],
    }
}

/// Runs of the octets that generated captures are made of, each in some of their segments, and
/// words of generated and of real ones.
const SIGNATURES: &str = "
exploit  reset tcp any any    any any   |10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f|
malware  drop  any any any    any any   |31 30 33 32 35 34 37 36 39 38 3b 3a 3d 3c 3f 3e|
leak     alert any any any    any any   |22 23 20 21 26 27 24 25|
policy   alert tcp any server any exact the rest
scan     alert tcp any server any any   GET /
";

/// Returns the outcome that is the purpose of such a program.
pub(crate) fn refusal(program: &str) -> Option<&'static str> {
    match program {
        "policer" => Some("over-rate"),
        "port-scan" => Some("scanner"),
        "connection-limiter" => Some("too-many-connections"),
        "gateway" => Some("unresolved"),
        "ids" => Some("signature"),
        _ => None,
    }
}

/// Returns the output without tunnels, and with both directions of a connection in one flow.
fn comparable(program: &str, output: &Path, service: Option<Ipv4Addr>) -> PathBuf {
    if program == "vxlan" {
        let comparable = output.with_extension("comparable.pcap");
        altered::out_of_the_tunnel(output, &comparable);
        return comparable;
    }
    let Some(service) = service else { return output.to_owned() };
    let comparable = output.with_extension("comparable.pcap");
    captures::before_balancing(output, service, &comparable);
    comparable
}

pub(crate) fn ip(address: Address) -> std::net::IpAddr {
    std::net::Ipv6Addr::from(address.octets()).to_canonical()
}

fn write(path: &Path, text: &str) {
    if let Err(error) = std::fs::write(path, text) {
        panic!("{}: {error}", path.display());
    }
}
