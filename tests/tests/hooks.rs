//! Hooks of expired entries: they run at the same moment under every plan, and once, whatever dies.
//!
//! The program `leases` gives each flow a ticket of a small pool, and a hook returns the ticket. A
//! timer tells how many are left. A model of a page says which packets get which ticket, and the
//! numbers that the timer tells.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::BufWriter;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cora::testing::udp;
use cora_tests::draw::Draw;
use cora_tests::process::{Running, child, children, run, start_fed};
use cora_tests::workshop::{emulator, is_full, program, room};
use cora_tests::{captures, tell};
use cora_traffic::pcap::Writer;
use serde_json::Value;

/// Upper bound on a run, which takes seconds.
const LIMIT: Duration = Duration::from_mins(2);
const PACKETS: u64 = 40_000;
const SECOND: u64 = 1_000_000_000;
/// The timer's period.
const TICK: u64 = 700_000_000;

/// A packet of the capture: its time (ns), and its flow.
type Sent = (u64, (u8, u16));

/// Packets of flows that come and go. Time passes by milliseconds, and now and then by seconds.
fn traffic(seed: u64) -> Vec<Sent> {
    let mut draw = Draw(seed);
    let mut now = SECOND;
    let mut sent = Vec::new();
    for _ in 0..PACKETS {
        now += match draw.below(5_000) {
            0 => draw.below(12 * SECOND),
            1..=10 => draw.below(2 * SECOND),
            _ => draw.below(200_000),
        } + 1_000;
        // A few flows last, the others are of the moment.
        let flow = if draw.below(3) == 0 {
            draw.below(12)
        } else {
            12 + (now / SECOND) % 50 * 30 + draw.below(30)
        };
        sent.push((now, ((flow % 40) as u8, 1_000 + flow as u16)));
    }
    sent
}

/// What the model says: the tickets that packets show, and what is left in the pool.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    tickets: Vec<Option<u16>>,
    left: u64,
    ended: [u64; 2],
    order: u64,
    /// What the timer told: its times, and the tickets left.
    told: Vec<(u64, u32)>,
}

/// An entry of the model: its last packet, its packets, and a holder's ticket.
#[derive(Clone, Copy)]
struct Entry {
    used: u64,
    packets: u64,
    ticket: u16,
}

impl Entry {
    fn end(&self, is_source: bool) -> u64 {
        let idle = match (is_source, self.ticket % 4) {
            (true, _) => 2_500_000_000,
            // A second counts as the shortest time that an entry with a hook lives.
            (false, 0) => 2 * SECOND,
            (false, _) => 5 * SECOND,
        };
        self.used + idle
    }
}

#[derive(Default)]
struct Model {
    holders: HashMap<(u8, u16), Entry>,
    sources: HashMap<u8, Entry>,
    /// Ended entries by their end, and which kind they are.
    over: BTreeMap<(u64, bool), Vec<Entry>>,
    free: Vec<u16>,
    ended: [u64; 2],
    order: u64,
    next_tick: u64,
    told: Vec<(u64, u32)>,
}

impl Model {
    /// Ends what expired by `now`, and runs the hooks that are due.
    fn pass(&mut self, now: u64) {
        for (is_source, entry) in (self
            .holders
            .extract_if(|_, entry| entry.end(false) <= now)
            .map(|(_, it)| (false, it)))
        .chain(self.sources.extract_if(|_, it| it.end(true) <= now).map(|(_, it)| (true, it)))
        {
            self.over.entry((entry.end(is_source), is_source)).or_default().push(entry);
        }
        if self.next_tick == 0 {
            self.next_tick = now / TICK * TICK + TICK;
        }
        loop {
            let end = self.over.first_key_value().map_or(u64::MAX, |((end, _), _)| end + SECOND);
            if end.min(self.next_tick) > now {
                break;
            }
            if self.next_tick < end {
                self.order = self.order.wrapping_mul(3).wrapping_add(self.next_tick);
                self.told.push((self.next_tick, self.free.len() as u32));
                self.next_tick += TICK;
                continue;
            }
            let (&(end, is_source), _) = self.over.first_key_value().expect("it was seen");
            let (_, entries) = self.over.pop_first().expect("it was seen");
            assert_eq!(entries.len(), 1, "the traffic has no two packets of one time");
            let Entry { ticket, packets, .. } = entries[0];
            if !is_source {
                self.free.push(ticket);
            }
            self.ended[usize::from(is_source)] += 1;
            self.order = self.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(end ^ packets);
        }
    }

    /// The ticket of a packet.
    fn handle(&mut self, now: u64, flow: (u8, u16)) -> Option<u16> {
        self.pass(now);
        let source = self.sources.entry(flow.0);
        source.and_modify(|it| (it.used, it.packets) = (now, it.packets + 1)).or_insert(Entry {
            used: now,
            packets: 1,
            ticket: 0,
        });
        if let Some(holder) = self.holders.get_mut(&flow) {
            (holder.used, holder.packets) = (now, holder.packets + 1);
            return Some(holder.ticket);
        }
        let ticket = self.free.pop()?;
        self.holders.insert(flow, Entry { used: now, packets: 1, ticket });
        Some(ticket)
    }
}

fn expected(sent: &[Sent]) -> Expected {
    let mut model = Model { free: (0..64).collect(), ..Model::default() };
    let tickets = sent.iter().map(|(now, flow)| model.handle(*now, *flow)).collect();
    // The run's time ends with its last packet.
    let Model { free, ended, order, told, .. } = model;
    Expected { tickets, left: free.len() as u64, ended, order, told }
}

/// A program, and a capture of datagrams for it.
struct Case {
    program: &'static str,
    room: PathBuf,
}

/// What a run leaves.
#[derive(Debug, PartialEq)]
struct Left {
    outcomes: Value,
    state: Value,
    /// The frames that left, in order.
    frames: Vec<Vec<u8>>,
}

impl Case {
    fn new(program: &'static str, seed: u64, sent: &[Sent]) -> Self {
        let room = room(&format!("hooks-{program}-{seed}"));
        let file = File::create(room.join("in.pcap")).expect("it is ours");
        let mut writer = Writer::new(BufWriter::new(file)).expect("it is written");
        for (time, (source, port)) in sent {
            let from = (Ipv4Addr::new(10, 0, 0, *source), *port);
            let frame = udp(from, (Ipv4Addr::new(198, 51, 100, 7), 53), b"question");
            writer.write(*time, &frame).expect("it is written");
        }
        writer.finish().expect("it is written");
        Self { program, room }
    }

    fn run(&self, words: &[&str]) -> Left {
        let (output, state) = (self.room.join("out.pcap"), self.room.join("state.json"));
        let mut command = Command::new(program(self.program));
        command.args(["run", "--json", "--in"]).arg(self.room.join("in.pcap"));
        command.arg("--out").arg(&output).arg("--state-out").arg(&state).args(words);
        let ended = run(&mut command, LIMIT);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let mut frames = Vec::new();
        captures::each(&output, |_, packet| frames.push(packet.frame().to_vec()));
        Left {
            outcomes: read(&ended.stdout)["outcomes"].clone(),
            state: read(&fs::read_to_string(&state).expect("the state")),
            frames,
        }
    }

    /// Runs the program at both sides while flows move, and checks that the same is left.
    fn compare(&self, alone: &Left) {
        let mut nics = vec!["native"];
        match emulator() {
            Ok(_) => nics.push("emulated"),
            Err(skipped) => tell(&skipped),
        }
        for nic in nics {
            let all = ["random:3", "plan", "random:4", "random:5"];
            let most = match (is_full(), nic) {
                (false, "native") => 2,
                (false, _) => 1,
                (true, _) => all.len(),
            };
            for moves in all.into_iter().take(most) {
                let left = self.run(&["--nic", nic, "--moves", moves]);
                assert_eq!(left.outcomes, alone.outcomes, "{nic}, {moves}");
                assert_eq!(left.state, alone.state, "{nic}, {moves}");
                let sorted = |left: &Left| {
                    let mut frames = left.frames.clone();
                    frames.sort();
                    frames
                };
                assert!(sorted(&left) == sorted(alone), "{nic}, {moves}: other frames left");
            }
        }
    }
}

impl Expected {
    /// Checks a run against the model.
    fn judge(&self, left: &Left) {
        let tickets = self.tickets.iter().flatten();
        let (told, frames): (Vec<_>, Vec<_>) =
            left.frames.iter().partition(|frame| frame[12..14] == [0x88, 0xb5]);
        let told = told.iter().map(|frame| {
            let at = u64::from_be_bytes(frame[14..22].try_into().expect("eight bytes"));
            (at, u32::from_be_bytes(frame[22..26].try_into().expect("four bytes")))
        });
        assert!(told.eq(self.told.iter().copied()), "the timer told something else");
        let shown = frames.iter().map(|frame| u16::from_be_bytes([frame[34], frame[35]]));
        assert!(shown.eq(tickets.map(|ticket| 40_000 + ticket)), "each packet shows its ticket");
        let refused = self.tickets.iter().filter(|ticket| ticket.is_none()).count();
        assert_eq!(left.outcomes["no-ticket"], refused);
        assert!(refused > 100, "the pool is too large to matter: {refused}");
        let pool = &left.state["states"]["Pool"];
        let text = pool.to_string();
        for (field, value) in [
            ("left", self.left.to_string()),
            ("order", self.order.to_string()),
            ("ended", format!("[{},{}]", self.ended[0], self.ended[1])),
        ] {
            assert!(text.contains(&format!("\"{field}\":{value}")), "{field} is {value}: {text}");
        }
    }
}

#[test]
fn hooks_run_between_the_same_packets_under_every_plan() {
    for seed in 1..if is_full() { 4 } else { 2 } {
        let sent = traffic(seed);
        let case = Case::new("leases", seed, &sent);
        let alone = case.run(&["--nic", "off"]);
        expected(&sent).judge(&alone);
        case.compare(&alone);
    }
}

/// The capture's last frame is cut, so no handler gets it. The timer's ticks up to its time are
/// told all the same, without a NIC, too.
#[test]
fn ticks_behind_the_last_whole_frame_are_told() {
    let sent = &traffic(7)[..200];
    let case = Case::new("leases", 97, sent);
    let path = case.room.join("in.pcap");
    let mut capture = fs::read(&path).expect("it is ours");
    let last = sent.last().map_or(0, |(now, _)| *now) + 5 * SECOND;
    for part in [last / SECOND, last % SECOND, 20, 60] {
        capture.extend_from_slice(&(part as u32).to_le_bytes());
    }
    capture.extend_from_slice(&[0; 20]);
    fs::write(&path, capture).expect("it is ours");
    let alone = case.run(&["--nic", "off"]);
    let told = alone.frames.iter().filter(|frame| frame[12..14] == [0x88, 0xb5]);
    let ticks = last / 700_000_000 - sent[0].0 / 700_000_000;
    assert_eq!(told.count() as u64, ticks);
    case.compare(&alone);
}

/// Resolvers ask a hundred questions a second for 400 s, each from a port of its own. A port is
/// held for the five minutes of its session: 30,000 of 32,768 at a time.
#[test]
fn a_nat_holds_no_port_of_a_dead_session() {
    let question = |number: u64| {
        let flow = ((number / 20_000) as u8, 1_024 + (number % 20_000) as u16);
        (SECOND + number * (SECOND / 100), flow)
    };
    let questions = 40_000;
    let sent: Vec<Sent> = (0..questions).map(question).collect();
    let case = Case::new("nat", 0, &sent);
    let alone = case.run(&["--nic", "off"]);
    assert_eq!(alone.outcomes, serde_json::json!({ "transmit": questions }));
    case.compare(&alone);
}

/// Returns the process of the half that is to be killed, if there is one.
fn half(run: &Running, host: bool) -> Option<u32> {
    let the_host = child(run.id(), "__host");
    if host {
        return the_host;
    }
    children(run.id()).into_iter().find(|id| Some(*id) != the_host)
}

/// Traffic that ends long after all but its last flow.
fn traffic_with_silence(seed: u64) -> Vec<Sent> {
    let mut sent = traffic(seed);
    let mut now = sent.last().map_or(0, |(now, _)| *now);
    for _ in 0..3 {
        now += 20 * SECOND;
        sent.push((now, (200, 60_000)));
    }
    sent
}

/// Kills one kind of half again and again while flows move. In the end each ticket is in one place:
/// in the pool, or with an entry that lives.
fn keeps_all_tickets(host: bool) {
    let seed = std::env::var("CORA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let name = if host { "host" } else { "NIC" };
    let sent = traffic_with_silence(seed);
    let case = Case::new("leases", if host { 98 } else { 99 }, &sent);
    let (state, mut draw) = (case.room.join("state.json"), Draw(seed));
    let mut command = Command::new(program("leases"));
    command.args(["run", "--json", "--nic", "native", "--moves", "random:3", "--restarts", "20"]);
    command.args(["--in", "/dev/stdin", "--out"]).arg(case.room.join("out.pcap"));
    command.arg("--state-out").arg(&state);
    let bytes = fs::read(case.room.join("in.pcap")).expect("it is ours");
    // The run takes some seconds longer than the kills, independent of the speed of the machine.
    let running = start_fed(&mut command, move |mut to| {
        for piece in bytes.chunks(bytes.len() / 2_000) {
            if std::io::Write::write_all(&mut to, piece).is_err() {
                break;
            }
            sleep(Duration::from_millis(3));
        }
    });
    let (mut killed, mut last) = (0, None);
    for _ in 0..8 {
        sleep(Duration::from_millis(100 + draw.below(400)));
        let Some(process) = half(&running, host).filter(|now| last != Some(*now)) else { continue };
        let done = Command::new("kill").args(["-9", &process.to_string()]).status();
        killed += u64::from(done.expect("it is a command").success());
        last = Some(process);
    }
    let report = running.end(LIMIT).well("the run").json();
    let what = format!("CORA_SEED={seed}, {name}: {report:#}");
    let outcomes = report["outcomes"].as_object().expect("outcomes").values();
    assert_eq!(outcomes.filter_map(Value::as_u64).sum::<u64>(), sent.len() as u64, "{what}");
    assert!(killed > 2 && report["restarts"][name].as_u64() >= Some(killed - 1), "{what}");
    let text = fs::read_to_string(&state).expect("the state");
    let states = &serde_json::from_str::<Value>(&text).expect("JSON")["states"];
    let numbers = |values: &Value| -> Vec<u64> {
        values.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
    };
    let pool = &states["Pool"];
    let left = pool["left"].as_u64().expect("a number") as usize;
    let mut tickets = numbers(&pool["free"]);
    tickets.truncate(left);
    let holders = states["Holder"].as_array().expect("a table");
    let held = holders.iter().filter_map(|holder| holder["value"]["ticket"].as_u64());
    tickets.extend(held);
    tickets.sort_unstable();
    let ended = numbers(&pool["ended"])[0];
    tell(&format!("{name}: {killed} kills, {ended} hooks ran, {} tickets held", holders.len()));
    assert!(ended > 100 && tickets.iter().copied().eq(0..64), "{tickets:?}: {what}");
}

#[test]
fn tickets_survive_kills_of_the_nic() {
    keeps_all_tickets(false);
}

#[test]
fn tickets_survive_kills_of_the_host() {
    keeps_all_tickets(true);
}
