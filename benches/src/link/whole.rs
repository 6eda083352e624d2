//! Packets through a program whose NIC half is behind the link, and whose ports are the card's: one
//! that the host has to see, and one that stays at the NIC half. The processes are those that run
//! on a card and its host. Here all share the processors of this machine.

use std::io::{Error, Result};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cora_port::Port;
use cora_traffic::namespace::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Latencies;
use super::veth::{WAYS, set_up};
use crate::figure::Figure;
use crate::traffic::{FRAME, opening};
use crate::turns::Turns;

const PROGRAM: &str = "firewall";
/// The addresses of host and card.
const HOST: &str = "02:00:00:00:09:01";
const CARD: &str = "02:00:00:00:09:02";
/// How long the processes may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// A packet that takes so long is lost.
const LOST: Duration = Duration::from_secs(1);
/// Silence after which both ends of the link rest.
const SILENCE: Duration = Duration::from_millis(30);
/// The share of a processor that relay and agent may take with no packets, in percent.
const IDLE: f64 = 4.0;
/// The same with both halves and the supervisor, which looks after its ports every 200 µs.
const IDLE_ALL: f64 = 20.0;
/// Most packets on their way.
const WINDOW: u64 = 64;

/// A process, until it is dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself, or does now.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A program on a host and its card, and the kernel around the card's ports.
struct Site {
    inside: Box<dyn Port>,
    outside: Box<dyn Port>,
    run: Running,
    agent: Running,
    /// The next flow that is new.
    flow: u64,
    _networks: [Namespace; 3],
}

impl Site {
    fn build(program: &Path, way: &str) -> Result<Self> {
        let make = |label: &str| Namespace::create(&format!("link-{way}-{label}"));
        let make = |label: &str| make(label).map_err(Error::other);
        let (host, card, around) = (make("h")?, make("c")?, make("a")?);
        let join = |from: &Namespace, name: &str, to: &Namespace, its: &str| {
            from.join(name, to, its).map_err(Error::other)
        };
        join(&host, "w0", &card, "w1")?;
        join(&around, "e0", &card, "in0")?;
        join(&around, "e1", &card, "out0")?;
        for (network, name, address) in [
            (&host, "w0", HOST),
            (&card, "w1", CARD),
            (&card, "in0", "02:00:00:00:09:03"),
            (&card, "out0", "02:00:00:00:09:04"),
            (&around, "e0", "02:00:00:00:09:05"),
            (&around, "e1", "02:00:00:00:09:06"),
        ] {
            set_up(network, name, address)?;
        }
        let program = program.display().to_string();
        let mut agent = card.command(&program);
        agent.args(["card", "--nic", "native", "--host", &format!("{way}:w1,{HOST}")]);
        agent.args(["--live", "inside=packet:in0,outside=packet:out0"]);
        let mut run = host.command(&program);
        run.args(["run", "--json", "--nic", "card:ethernet", "--live", "card"]);
        run.args(["--card", &format!("{way}:w0,{CARD}"), "--seconds", "300"]);
        let (agent, run) = (Running::start(&mut agent)?, Running::start(&mut run)?);
        let open = |name: &str| -> Result<Box<dyn Port>> {
            let name = format!("packet:{name}").parse().map_err(Error::other)?;
            let opened = around.visit(|| cora_port::open(&name)).map_err(Error::other)?;
            opened.map_err(Error::other)
        };
        let (inside, outside) = (open("e0")?, open("e1")?);
        let networks = [host, card, around];
        let mut site = Self { inside, outside, run, agent, flow: 1, _networks: networks };
        site.begin()?;
        Ok(site)
    }

    /// Waits until packets pass.
    fn begin(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.pass(0, Duration::from_millis(200))?.is_none() {
            if begun.elapsed() > BEGINS {
                return Err(Error::other("no packet passes the program on the card"));
            }
        }
        // The flow goes to the NIC half.
        std::thread::sleep(Duration::from_millis(500));
        Ok(())
    }

    /// Sends a packet of a flow in; returns the time until it left, in ns.
    fn pass(&mut self, flow: u64, at_most: Duration) -> Result<Option<f64>> {
        let frame: [u8; FRAME] = opening(flow);
        let begun = Instant::now();
        self.inside.transmit(&[&frame]);
        self.inside.flush().map_err(Error::other)?;
        loop {
            let mut came = false;
            let received =
                self.outside.receive(64, &mut |left| came |= left[26..38] == frame[26..38]);
            received.map_err(Error::other)?;
            let took = begun.elapsed();
            if came || took > at_most {
                return Ok(came.then_some(took.as_nanos() as f64));
            }
            wait(self.outside.as_ref());
        }
    }

    /// Sends a packet of a flow that the NIC half has, or of a new one.
    fn time(&mut self, is_new: bool) -> Result<f64> {
        let flow = if is_new { self.flow } else { 0 };
        self.flow += u64::from(is_new);
        self.pass(flow, LOST)?.ok_or_else(|| Error::other("a packet was lost"))
    }

    /// Sends so many packets of new flows, or of one that the NIC half has, some at once; returns
    /// the time of each, in ns.
    fn stream(&mut self, is_new: bool, count: u64) -> Result<f64> {
        let (mut sent, mut came, begun) = (0, 0, Instant::now());
        let mut heard = begun;
        while came < count {
            while sent < count && sent - came < WINDOW {
                let frame = opening(if is_new { self.flow } else { 0 });
                self.flow += u64::from(is_new);
                self.inside.transmit(&[&frame]);
                sent += 1;
            }
            self.inside.flush().map_err(Error::other)?;
            let received = self.outside.receive(64, &mut |_| ()).map_err(Error::other)?;
            came += received as u64;
            if received > 0 {
                heard = Instant::now();
            } else if heard.elapsed() > LOST {
                return Err(Error::other(format!("{came} of {sent} packets left")));
            } else {
                wait(self.outside.as_ref());
            }
        }
        Ok(begun.elapsed().as_nanos() as f64 / count as f64)
    }

    /// Processor time of all processes at both ends so far, in ns.
    fn cpu_of_all(&self) -> Result<f64> {
        let starters = [self.run.0.id(), self.agent.0.id()];
        let all = starters.into_iter().flat_map(|one| std::iter::once(one).chain(children(one)));
        all.map(cpu_of).sum()
    }

    /// Processor time of relay and agent so far, in ns.
    fn cpu(&self) -> Result<f64> {
        let relay = child(self.run.0.id(), "__relay");
        let relay = relay.ok_or_else(|| Error::other("there is no relay"))?;
        Ok(cpu_of(self.agent.0.id())? + cpu_of(relay)?)
    }
}

/// Waits for a frame, but not long.
fn wait(port: &dyn Port) {
    let handles = port.handles();
    let file = |file| PollFd::from_borrowed_fd(file, PollFlags::IN);
    let mut files: Vec<PollFd<'_>> = handles.into_iter().map(file).collect();
    // The caller looks again in any case.
    let _ready = poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
}

/// The process of a run that was started with this word.
fn child(parent: u32, word: &str) -> Option<u32> {
    children(parent).into_iter().find(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
    })
}

/// The processes that a process started.
fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
    let lists = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("children")));
    let lists: String = lists.filter_map(Result::ok).collect();
    lists.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Processor time of all threads of a process, in ns.
fn cpu_of(process: u32) -> Result<f64> {
    let mut sum = 0.0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let told = std::fs::read_to_string(task?.path().join("schedstat"))?;
        sum += told.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(sum)
}

/// Measures the program in `programs`.
pub(super) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    for way in WAYS {
        let parts = ["punted packet", "idle"].map(|part| format!("link/{way}/{part}"));
        if parts.iter().any(|part| wanted(part)) {
            let mut site = Site::build(&programs.join(PROGRAM), way)?;
            packets(&mut site, way, quick, tell)?;
            streams(&mut site, way, quick, tell)?;
            idle(&site, way, quick, tell)?;
        }
    }
    Ok(())
}

fn packets(site: &mut Site, way: &str, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let (rounds, count) = if quick { (3, 100) } else { (9, 200) };
    for (pause, when, count) in
        [(None, "one after the other", count), (Some(SILENCE), "after silence", count / 10)]
    {
        let mut latencies = Latencies::default();
        for _ in 0..rounds {
            let mut times = [vec![], vec![]];
            for _ in 0..count {
                for (times, is_new) in times.iter_mut().zip([true, false]) {
                    pause.into_iter().for_each(std::thread::sleep);
                    times.push(site.time(is_new)?);
                }
            }
            latencies.add(times);
        }
        latencies.tell(&format!("link/{way}/punted packet, {when}"), "a packet that stays", tell);
    }
    Ok(())
}

/// Packets with several on their way: their time, and the processor time of relay and agent.
fn streams(site: &mut Site, way: &str, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let (rounds, count) = if quick { (3, 1_000) } else { (9, 2_000) };
    let [mut times, mut costs] = [(); 2].map(|()| [vec![], vec![]]);
    for _ in 0..rounds {
        for (at, is_new) in [true, false].into_iter().enumerate() {
            let before = site.cpu()?;
            times[at].push(site.stream(is_new, count)?);
            costs[at].push((site.cpu()? - before) / count as f64);
        }
    }
    let ([punted, stay], [cost, stays]) = (times.map(Turns::new), costs.map(Turns::new));
    let name = format!("link/{way}/punted packets, {WINDOW} on their way");
    let figure = Figure::of_times(name, &punted, &stay, "packets that stay", 0.0);
    tell(figure.into_thousands());
    let name = format!("link/{way}/punted packet, CPU of relay and agent");
    tell(Figure::of_times(name, &cost, &stays, "a packet that stays", 0.0));
    Ok(())
}

fn idle(site: &Site, way: &str, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let time = Duration::from_secs(if quick { 1 } else { 3 });
    std::thread::sleep(SILENCE * 10);
    let (begun, before) = (Instant::now(), (site.cpu()?, site.cpu_of_all()?));
    std::thread::sleep(time);
    let after = (site.cpu()?, site.cpu_of_all()?);
    let share = |cpu: f64| cpu / begun.elapsed().as_nanos() as f64 * 100.0;
    for (what, share, limit) in [
        ("relay and agent", share(after.0 - before.0), IDLE),
        ("processes at both ends", share(after.1 - before.1), IDLE_ALL),
    ] {
        tell(Figure::of_limit(format!("link/{way}/idle {what}"), share, limit, "% CPU"));
    }
    Ok(())
}
