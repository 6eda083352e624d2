//! The ports of a live wire: `inside=PORT,outside=PORT`, and further ones.
//!
//! Port 0 is inside, and port 1 is outside. A further port has its number in the place of a name,
//! `2=PORT` to `15=PORT`, or a name of the user's. Such names get the numbers that are left, from 2
//! on, in the order in which they are written: in `inside=…,outside=…,dmz=…,mirror=…`, `dmz` is
//! port 2 and `mirror` is port 3.
//!
//! With `pass=opposite` among them, a packet that passes leaves at the opposite port: the network
//! stack that it goes to is behind that port. Otherwise no port carries it.

use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use cora_core::packet::Port;
use cora_port::PortName;

use crate::spelling::nearest;

/// The names of the first two ports.
pub(crate) const FIRST: [&str; 2] = ["inside", "outside"];
/// Maximum number of ports.
const MOST: usize = Port::LAST.0 as usize + 1;
/// Longest name of a port, in bytes.
const LONGEST: usize = 32;
/// The device of each port in a rehearsal: one frame, then none.
const SILENT: &str = "mem:flows=1;size=60;count=1";

/// One port of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPort {
    /// Its name, or its number, as typed.
    pub(crate) name: String,
    /// Its number.
    pub(crate) number: Port,
    /// What it is.
    pub(crate) device: PortName,
}

/// The ports of a run, by their numbers: inside and outside are always there, unless all are a
/// card's, or there is one alone, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    all: Vec<NamedPort>,
    /// Whether packets that pass leave at the opposite port.
    passes_on: bool,
}

/// In the place of a port: where packets that pass leave.
const PASS: &str = "pass";
/// At the opposite port.
const OPPOSITE: &str = "opposite";

/// The name of a port for messages alone.
const MESSAGES: &str = "messages";

/// In the place of ports: they are the card's, or the agent's.
const ELSEWHERE: [&str; 2] = ["card", "agent"];

impl Ports {
    /// A socket alone, for messages.
    pub(crate) fn of_messages(address: SocketAddr) -> String {
        format!("{MESSAGES}={}", PortName::Udp { address })
    }

    const fn of(all: Vec<NamedPort>) -> Self {
        Self { all, passes_on: false }
    }

    /// Whether packets that pass leave at the opposite port.
    pub(crate) const fn passes_on(&self) -> bool {
        self.passes_on
    }

    /// Whether there is one alone, for messages.
    fn are_one(&self) -> bool {
        self.all.len() == 1
    }

    /// Whether they are ports of a card, or of an agent, which names them.
    pub(crate) fn are_of_card(&self) -> bool {
        self.all.is_empty()
    }

    /// The ports, by their numbers.
    pub(crate) fn all(&self) -> &[NamedPort] {
        &self.all
    }

    /// As many ports with the same names and numbers, each of which gives one frame. For those of a
    /// card, which alone names them, and for one alone, the first two.
    pub(crate) fn silent(&self) -> String {
        let names: Vec<&str> = if self.are_of_card() || self.are_one() {
            FIRST.to_vec()
        } else {
            self.all.iter().map(|port| &*port.name).collect()
        };
        let ports: Vec<_> = names.iter().map(|name| format!("{name}={SILENT}")).collect();
        ports.join(",")
    }

    /// No interface is two ports, and none writes what another one reads or writes.
    fn check(self) -> Result<Self, String> {
        self.check_files()?;
        for (at, port) in self.all.iter().enumerate() {
            let Some(interface) = port.device.interface() else { continue };
            let same = |other: &&NamedPort| other.device.interface() == Some(interface);
            if let Some(other) = self.all.iter().take(at).find(same) {
                let (one, two) = (&other.name, &port.name);
                return Err(format!(
                    "both `{one}` and `{two}` are `{interface}`: each port is an interface of its own"
                ));
            }
        }
        Ok(self)
    }

    fn check_files(&self) -> Result<(), String> {
        for port in &self.all {
            let PortName::Pcap { output: Some(output), .. } = &port.device else { continue };
            for other in self.all.iter().filter(|other| other.number != port.number) {
                let PortName::Pcap { input, output: theirs } = &other.device else { continue };
                let what = match theirs {
                    _ if is_same(input, output) => "reads",
                    Some(theirs) if is_same(theirs, output) => "writes",
                    _ => continue,
                };
                let (one, two, file) = (&port.name, &other.name, output.display());
                return Err(format!(
                    "`{one}` would write `{file}`, which `{two}` {what}: name another file"
                ));
            }
        }
        Ok(())
    }
}

/// Whether both are one file, there already or not.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ELSEWHERE.contains(&text) {
            return Ok(Self::of(Vec::new()));
        }
        let mut given: Vec<(&str, Option<u8>, PortName)> = Vec::new();
        let mut passes_on = false;
        for part in text.split(',') {
            let (name, device) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` says no port: write inside=PORT,outside=PORT"))?;
            if name == PASS {
                if device != OPPOSITE || passes_on {
                    return Err(format!("`{part}` is not what is said once: {PASS}={OPPOSITE}"));
                }
                passes_on = true;
                continue;
            }
            let number = number(name)?;
            let device = device.parse()?;
            let is_there = |(other, its, _): &(&str, _, _)| {
                *other == name || number.is_some() && *its == number
            };
            if given.iter().any(is_there) {
                return Err(format!("the port `{name}` is said twice"));
            }
            given.push((name, number, device));
        }
        if given.len() > MOST {
            let there = given.len();
            return Err(format!(
                "these are {there} ports: a run has {MOST} at most, with inside and outside"
            ));
        }
        if let [(name, _, device)] = &given[..]
            && (*name == MESSAGES || matches!(device, PortName::Udp { .. }))
        {
            if passes_on {
                return Err(format!("{PASS}={OPPOSITE}: there is no port opposite to `{name}`"));
            }
            // Answers to messages leave where these came, so there is no need of another end.
            let (name, device) = ((*name).to_owned(), device.clone());
            return Ok(Self::of(vec![NamedPort { name, number: Port::INSIDE, device }]));
        }
        for (number, first) in (0..).zip(FIRST) {
            if !given.iter().any(|(_, its, _)| *its == Some(number)) {
                let names: Vec<&str> = given.iter().map(|(name, _, _)| *name).collect();
                return Err(missing(first, &names));
            }
        }
        let taken: Vec<u8> = given.iter().filter_map(|(_, number, _)| *number).collect();
        let mut free = (0..=Port::LAST.0).filter(|number| !taken.contains(number));
        // There are no more ports than numbers.
        let numbered = given.into_iter().filter_map(|(name, number, device)| {
            let number = Port(number.or_else(|| free.next())?);
            Some(NamedPort { name: name.to_owned(), number, device })
        });
        let mut ports: Vec<NamedPort> = numbered.collect();
        ports.sort_by_key(|port| port.number);
        Self { all: ports, passes_on }.check()
    }
}

/// The number of a port, unless it gets one of those that are left.
fn number(name: &str) -> Result<Option<u8>, String> {
    if let Some(first) = (0..).zip(FIRST).find(|(_, first)| *first == name) {
        return Ok(Some(first.0));
    }
    let last = Port::LAST.0;
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return match name.parse::<u8>() {
            Ok(0) => Err(format!("the port `{name}` has a name: write inside=PORT")),
            Ok(1) => Err(format!("the port `{name}` has a name: write outside=PORT")),
            Ok(number) if number <= last => Ok(Some(number)),
            _ => Err(format!("there is no port `{name}`: further ports are 2 to {last}")),
        };
    }
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !begins || name.len() > LONGEST || !name.bytes().all(is_fine) {
        return Err(format!(
            "`{name}` is not the name of a port: it is inside, outside, a number from 2 to {last}, or a name of \
             your own: a letter, then letters, digits, `-` and `_`, {LONGEST} at most"
        ));
    }
    Ok(None)
}

/// That inside or outside is missing; perhaps it is one of these, misspelt.
fn missing(port: &str, given: &[&str]) -> String {
    let wrong = nearest(port, given.iter().copied().filter(|name| !FIRST.contains(name)));
    let meant = wrong.map_or_else(String::new, |wrong| format!(" (and not {wrong}=PORT)"));
    format!("the port `{port}` is missing: write {port}=PORT{meant}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tap(name: &str, number: u8, interface: &str) -> NamedPort {
        let device = PortName::Tap { interface: interface.into() };
        NamedPort { name: name.into(), number: Port(number), device }
    }

    fn read(text: &str) -> Result<Ports, String> {
        text.parse()
    }

    #[test]
    fn both_ports_are_named_once_each() {
        let both = Ports::of(vec![tap("inside", 0, "a0"), tap("outside", 1, "b0")]);
        assert_eq!(read("inside=tap:a0,outside=tap:b0"), Ok(both.clone()));
        assert_eq!(read("outside=tap:b0,inside=tap:a0"), Ok(both));
        let mixed = read("inside=xdp:a0?queues=2&mode=copy,outside=packet:b0").unwrap();
        assert_eq!(mixed.all()[1].device, PortName::Packet { interface: "b0".into() });
    }

    #[test]
    fn packets_that_pass_leave_where_it_is_said() {
        let ports = "inside=tap:a0,outside=tap:b0";
        assert!(!read(ports).unwrap().passes_on());
        assert!(read(&format!("{ports},pass=opposite")).unwrap().passes_on());
        for wrong in ["pass=inside", "pass=opposite,pass=opposite"] {
            let error = read(&format!("{ports},{wrong}")).unwrap_err();
            assert!(error.contains("said once: pass=opposite"), "{error}");
        }
        let error = read("messages=xdp:a0,pass=opposite").unwrap_err();
        assert!(error.contains("no port opposite to `messages`"), "{error}");
    }

    #[test]
    fn no_port_writes_the_file_of_another_one() {
        let refused = |outside: &str, words: &str| {
            let error = read(&format!("inside=pcap:a.pcap+b.pcap,outside=pcap:{outside}"));
            let error = error.unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        refused("b.pcap+c.pcap", "`inside` would write `b.pcap`, which `outside` reads");
        refused("c.pcap+b.pcap", "which `outside` writes");
        refused("c.pcap+a.pcap", "`outside` would write `a.pcap`, which `inside` reads");
        // One capture may come in at both.
        read("inside=pcap:a.pcap+b.pcap,outside=pcap:a.pcap+c.pcap").unwrap();
        let room = std::env::temp_dir().join(format!("cora-ports-{}", std::process::id()));
        std::fs::create_dir_all(&room).unwrap();
        let file = room.join("a.pcap");
        std::fs::write(&file, b"").unwrap();
        let (one, other) = (file.display(), room.join("../").join(room.file_name().unwrap()));
        let other = other.join("a.pcap");
        let both = format!("inside=pcap:{one}+x,outside=pcap:y+{}", other.display());
        assert!(read(&both).unwrap_err().contains("which `inside` reads"));
        std::fs::remove_dir_all(&room).unwrap();
    }

    /// The names and numbers of ports on TAP interfaces of the same order.
    fn numbers(names: &str) -> Vec<(String, u8)> {
        let ports = names.split(' ').enumerate().map(|(at, name)| format!("{name}=tap:t{at}"));
        numbers_of(&read(&ports.collect::<Vec<_>>().join(",")).unwrap())
    }

    fn numbers_of(ports: &Ports) -> Vec<(String, u8)> {
        ports.all().iter().map(|port| (port.name.clone(), port.number.0)).collect()
    }

    #[test]
    fn further_ports_get_the_numbers_that_are_left_in_their_order() {
        let named = |all: &[(&str, u8)]| -> Vec<(String, u8)> {
            all.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
        };
        for (names, all) in [
            ("inside outside dmz tap", &[("dmz", 2), ("tap", 3)][..]),
            ("tap dmz outside inside", &[("tap", 2), ("dmz", 3)]),
            ("inside outside 3 2", &[("2", 2), ("3", 3)]),
            ("inside outside 15", &[("15", 15)]),
            ("inside a outside b 3 2 c", &[("2", 2), ("3", 3), ("a", 4), ("b", 5), ("c", 6)]),
        ] {
            let first = named(&[("inside", 0), ("outside", 1)]);
            assert_eq!(numbers(names), [first, named(all)].concat(), "{names}");
        }
        let most: Vec<String> = (2..16).map(|number| format!("p{number}")).collect();
        assert_eq!(numbers(&format!("inside outside {}", most.join(" "))).len(), 16);
    }

    #[test]
    fn a_socket_needs_no_other_end() {
        let ports = read("messages=udp:127.0.0.1:7000").unwrap();
        assert_eq!(numbers_of(&ports), [("messages".to_owned(), 0)]);
        assert!(ports.are_one());
        assert_eq!(read(&Ports::of_messages("127.0.0.1:7000".parse().unwrap())), Ok(ports.clone()));
        let silent: Ports = ports.silent().parse().unwrap();
        assert_eq!(silent.all().len(), 2);
        let both = read("inside=udp:127.0.0.1:7000,outside=tap:b0").unwrap();
        assert!(!both.are_one());
    }

    #[test]
    fn a_port_for_messages_needs_no_other_end() {
        let ports = read("messages=xdp:a0").unwrap();
        assert_eq!(numbers_of(&ports), [("messages".to_owned(), 0)]);
        assert_eq!(ports.silent().parse::<Ports>().unwrap().all().len(), 2);
        // Whoever names it otherwise, or has others, has both ends.
        assert!(read("inside=tap:a0").unwrap_err().contains("`outside` is missing"));
        assert!(read("messages=tap:a0,dmz=tap:b0").unwrap_err().contains("`inside` is missing"));
    }

    #[test]
    fn a_rehearsal_has_the_same_ports() {
        let ports = read("inside=tap:a,outside=tap:b,x=tap:c,2=tap:d,y=tap:e").unwrap();
        let silent: Ports = ports.silent().parse().unwrap();
        let names = |ports: &Ports| -> Vec<_> {
            ports.all().iter().map(|port| (port.name.clone(), port.number)).collect()
        };
        assert_eq!(names(&silent), names(&ports));
        assert!(silent.all().iter().all(|port| port.device.interface().is_none()));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_right() {
        let many: Vec<String> = (0..15).map(|at| format!("p{at}=tap:t{at}")).collect();
        let many = format!("inside=tap:a,outside=tap:b,{}", many.join(","));
        for (wrong, why) in [
            ("", "says no port"),
            ("inside=tap:a", "`outside` is missing"),
            ("outside=tap:a", "`inside` is missing"),
            ("inside=tap:a,dmz=tap:b", "`outside` is missing: write outside=PORT"),
            ("insde=tap:a,outside=tap:b", "write inside=PORT (and not insde=PORT)"),
            ("left=tap:a,outside=tap:b", "`inside` is missing: write inside=PORT"),
            ("inside=tap:a,outside=tap:a", "both `inside` and `outside` are `a`"),
            ("inside=xdp:a,outside=packet:a", "both `inside` and `outside`"),
            ("inside=tap:a,outside=tap:b,dmz=packet:a", "both `inside` and `dmz` are `a`"),
            ("inside=tap:a,inside=tap:b", "`inside` is said twice"),
            ("inside=tap:a,outside=tap:b,dmz=tap:c,dmz=tap:d", "`dmz` is said twice"),
            ("inside=tap:a,outside=tap:b,2=tap:c,02=tap:d", "`02` is said twice"),
            ("inside=tap:a,1=tap:b", "`1` has a name: write outside=PORT"),
            ("0=tap:a,outside=tap:b", "`0` has a name: write inside=PORT"),
            ("inside=tap:a,outside=tap:b,16=tap:c", "no port `16`: further ports are 2 to 15"),
            ("inside=tap:a,outside=tap:b,999=tap:c", "further ports are 2 to 15"),
            ("inside=tap:a,outside=tap:b,=tap:c", "`` is not the name of a port"),
            ("inside=tap:a,outside=tap:b,2nd=tap:c", "`2nd` is not the name of a port"),
            ("inside=tap:a,outside=tap:b,d z=tap:c", "a letter, then letters"),
            (&many, "these are 17 ports: a run has 16 at most"),
            ("inside=dpdk:a,outside=tap:b", "no kind of port"),
            ("inside=tap:a,outside=tap:b,dmz=dpdk:c", "no kind of port"),
            ("inside=tap:,outside=tap:b", "not the name"),
            ("inside=tap:sixteen-letters-,outside=tap:b", "not the name"),
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_ports_or_a_sentence(
            parts in prop::collection::vec("(inside|outside|[0-9]{1,3}|[a-c]{1,2}|.{0,4})=tap:[a-z]{1,4}", 0..20)
        ) {
            match read(&parts.join(",")) {
                Ok(ports) => {
                    let numbers: Vec<u8> = ports.all().iter().map(|port| port.number.0).collect();
                    prop_assert!(numbers.is_sorted_by(|one, two| one < two));
                    prop_assert!(numbers.starts_with(&[0, 1]) && numbers.iter().all(|number| *number < 16));
                }
                Err(why) => prop_assert!(!why.is_empty()),
            }
        }
    }
}
