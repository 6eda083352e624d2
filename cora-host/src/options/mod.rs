//! The options of a run: one description for a program's `run`, for `cargo cora run`, for run files
//! and for the processes of a live run.
//!
//! ```text
//! command line ─┐
//!               ├─ read ─→ Run { options, words } ─→ a run, or (words) processes of a live run
//! run's file ───┘
//! ```
//!
//! Each option is in [`RunOptions`] once, with its default, its parser and its help. Code that
//! passes options on iterates over clap's arguments ([`words`]), and names none of them.

pub(crate) mod card_name;
mod contradictions;
mod messages;
mod moves;
pub(crate) mod nearest;
pub(crate) mod peer;
pub(crate) mod run_file;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use cora_core::app::App;
use cora_runtime::classes::Limits;

pub(crate) use messages::MessageSource;
pub use moves::Moves;
pub use words::words;
use words::{is_given, words_of};

use crate::attach::address::ServedAt;
use crate::control::endpoint::Address;
use crate::ingress::capture::{Reading, STANDARD};
use crate::ingress::inside::Inside;
use crate::ingress::pcap::LinkTypes;
use crate::ingress::port_names::Ports;
use crate::memory::futex::Waking;
use crate::memory::pages::Pages;
use crate::observe::ipfix::TargetName;
use crate::options::card_name::CardName;
use crate::options::peer::Peer;
use crate::process::log::LogOptions;

/// How the NIC half runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NicMode {
    /// Not at all: the host handles every packet.
    Off,
    /// The aarch64 program, under qemu-aarch64 as a Cortex-A72 (BlueField-2's core).
    Emulated,
    /// The same source built for this machine.
    Native,
    /// The aarch64 program on a card that is emulated as a whole: it has a kernel of its own, and
    /// shares a window of memory with this machine.
    #[value(name = "card:window", alias = "card")]
    Window,
    /// A card that is joined to this machine by Ethernet alone. --card says which one.
    #[value(name = "card:ethernet")]
    Ethernet,
    /// At an agent, which runs many programs and has the ports. --agent says which one.
    Agent,
}

impl NicMode {
    /// Its name on command lines and in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Emulated => "emulated",
            Self::Native => "native",
            Self::Window => "card:window",
            Self::Ethernet => "card:ethernet",
            Self::Agent => "agent",
        }
    }

    /// Whether the NIC half is on a card with a kernel of its own.
    pub(crate) const fn is_card(self) -> bool {
        matches!(self, Self::Window | Self::Ethernet)
    }

    /// Whether the NIC half runs on other processors than this run says.
    pub(crate) const fn is_elsewhere(self) -> bool {
        self.is_card() || matches!(self, Self::Agent)
    }

    /// Whether the host can read the memory in which the NIC half keeps the rests of frames.
    pub(crate) const fn shares_memory(self) -> bool {
        !matches!(self, Self::Ethernet | Self::Agent)
    }

    /// How long an idle host half sleeps at most. At an agent there may be many.
    pub(crate) const fn longest_sleep(self) -> Duration {
        Duration::from_millis(if matches!(self, Self::Agent) { 400 } else { 20 })
    }

    /// How the process in the place of the NIC half wakes the host half: under another kernel it
    /// can't.
    pub(crate) const fn waking(self) -> Waking {
        if matches!(self, Self::Window) { Waking::Looks } else { Waking::Futex }
    }
}

/// Default time in seconds that a half may make no progress. A live one makes some at least every
/// 20 ms, even if it is idle.
pub(crate) const PATIENCE: u16 = 2;
/// The same for a half that starts and maps memory, or ends and sends its results.
pub(crate) const SLOW_PATIENCE: u16 = 30;

/// Maximum number of shards in a run: the bits of a word.
pub(crate) const MOST_SHARDS: u16 = 64;

/// How a network function runs.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// How the NIC half runs.
    #[arg(long, value_enum, default_value = "native")]
    pub(crate) nic: NicMode,
    /// The capture that comes in at the NIC's wire: pcap or pcapng, maybe packed by gzip or zstd;
    /// `-` for standard input.
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Ports in place of a capture, as inside=PORT,outside=PORT, each tap:NAME, packet:IFACE,
    /// xdp:IFACE, udp:ADDRESS:PORT, pcap:IN+OUT or mem:flows=N;size=BYTES: until ctrl-C. Further
    /// ones as 2=PORT to
    /// 15=PORT, or by names of your own, which get the numbers from 2 on. With
    /// pass=opposite, packets that pass leave at the opposite port. Either half may die meanwhile,
    /// and is started again. `card`: the ports of the card.
    #[arg(long, value_name = "PORTS")]
    pub(crate) live: Option<Ports>,
    /// Where messages come from: a capture, as with --in, or udp:ADDRESS:PORT, a socket of this
    /// machine as the only port of a live run. For programs that take messages in datagrams.
    #[arg(long, value_name = "FILE|udp:ADDRESS:PORT")]
    pub(crate) messages: Option<MessageSource>,
    /// After how many seconds a live run ends by itself [default: never].
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
    /// A socket to be made there, open to its owner alone, by which `cargo cora configure` and
    /// `cargo cora upgrade` reach a live run [default: none].
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
    /// Where Prometheus finds `/metrics`, and whoever watches over the run `/healthz`: an address
    /// with a port, or unix:PATH, which is open to its owner alone [default: nowhere].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// Where to write what leaves, as pcap, or, with the ports, as pcapng if its name ends in
    /// .pcapng; `-` for standard output, and the report then goes to standard error [default:
    /// nowhere].
    #[arg(long = "out", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Levels and place of the log of a live run.
    #[command(flatten)]
    pub(crate) log: LogOptions,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to write the final state of every table, as JSON in canonical order [default:
    /// nowhere].
    #[arg(long, value_name = "FILE")]
    pub(crate) state_out: Option<PathBuf>,
    /// The first version of a read-mostly state, from a file; may be given once per state [default:
    /// the state's own].
    #[arg(long = "config", value_name = "STATE=FILE", value_parser = configuration)]
    pub(crate) configurations: Vec<(String, PathBuf)>,
    /// Another version of a read-mostly state: it takes force before the packet with number N,
    /// counted from 0. Where a capture is shorter, at its end. May be given several times.
    #[arg(long = "change", value_name = "N:STATE=FILE", value_parser = change)]
    pub(crate) changes: Vec<(u64, String, PathBuf)>,
    /// Source prefixes that come in at the inside port, whatever interfaces the capture has
    /// [default: its interfaces decide if there are several, else private addresses come from
    /// inside].
    #[arg(long, value_name = "PREFIX,…")]
    pub(crate) inside: Option<Inside>,
    /// Make up an Ethernet header for each packet of a capture that has none: raw IP, BSD loopback,
    /// Linux cooked. Otherwise such a capture is refused.
    #[arg(long)]
    pub(crate) make_ethernet: bool,
    /// Shards of NIC core and host worker: flows are steered to them, and they share nothing. Under
    /// `dealt` as many shards of each, and every one receives packets of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = shard_count())]
    pub(crate) shards: u16,
    /// Who decides which flows move: plan; adapt, a controller that learns; or adapt:FILE, with a
    /// log of its decisions. Under `dealt` adapt moves buckets away from overloaded shards.
    #[arg(long, value_name = "WHO", default_value = "plan")]
    pub(crate) moves: Moves,
    /// How often in a row a half that dies is started anew before the run ends. On captures, a NIC
    /// that was killed, without a packet in between [default: 3 with durable states, otherwise 0];
    /// in a live run, either half, without coming so far as to work [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) restarts: Option<u16>,
    /// Which pages the host's states are on.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) pages: Pages,
    /// Where records of entries that ended go, as IPFIX (RFC 7011): a file, or udp:HOST:PORT for a
    /// collector. For programs with a `recorded` state [default: nowhere].
    #[arg(long, value_name = "WHERE")]
    pub(crate) ipfix: Option<TargetName>,
    /// How many seconds a half may stand still before it is ended. A live run starts it again; a
    /// run on a capture ends with its NIC [default: 2; 30 as it begins].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..))]
    patience: Option<u16>,
    /// The tail that a handler's messages may have, in microseconds: those of a handler with a
    /// longer one wait behind the bursts, whose rounds take a quarter of it [default: none].
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    message_tail: Option<u32>,
    /// The mean time of a message at the NIC, waiting included, in microseconds: beyond it, flows
    /// of the handler with the most work go to the host [default: none].
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(requires = "message_tail")]
    message_mean: Option<u32>,
    /// The program for a card, built for aarch64 Linux; `cargo cora run` builds it and says where
    /// it is [default: none].
    #[arg(long, value_name = "FILE")]
    pub(crate) card_program: Option<PathBuf>,
    /// Which card, for --nic card:ethernet, which need not be said then. IFACE,MAC: the interface
    /// that leads to it, and the address of its own interface; there `<program> card` runs.
    /// xdp:IFACE,MAC: the same by AF_XDP. `emulated`: this machine emulates it. `local`: its agent
    /// is a process of this machine, for trials [default: emulated].
    #[arg(long, value_name = "CARD")]
    pub(crate) card: Option<CardName>,
    /// The socket of an agent, where the NIC half runs beside those of other programs: packets for
    /// the addresses of --serves go there [default: none].
    #[arg(long, value_name = "SOCKET")]
    pub(crate) agent: Option<PathBuf>,
    /// Where the server before which this program runs is asked: udp:ADDRESS:PORT or
    /// tcp:ADDRESS:PORT, several by commas. Its sockets prove to the agent that it may.
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    pub(crate) serves: Vec<ServedAt>,
    /// The share of the agent's time, beside those of other programs, from 1 to 100 [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) weight: Option<u16>,
    /// At the agent, share a process with others that attach this same program, so that hundreds
    /// have room there. A half that hangs takes them along, and does not come back.
    #[arg(long)]
    pub(crate) share_process: bool,
    /// The server's sockets, which this process inherited under these numbers: for a server that
    /// starts this program.
    #[arg(long, value_name = "FD,…", value_delimiter = ',', hide = true)]
    pub(crate) sockets: Vec<i32>,
    /// A file with these options, as TOML: each key is an option's long name, paths are relative to
    /// the file, and what the command line says comes first [default: none].
    #[arg(long = FILE, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The option that names a run file; ignored inside such a file.
pub(crate) const FILE: &str = "file";

/// A run, as described by command line and file.
#[derive(Clone, Debug)]
pub struct Run {
    /// The options.
    pub options: RunOptions,
    /// The same as words of a command line without a file.
    pub(crate) words: Vec<OsString>,
}

impl Run {
    /// Reads the options from the command line, and from the file that it names.
    ///
    /// # Errors
    /// All faults of the file, or of options that contradict each other, one per line.
    pub fn read(given: &ArgMatches) -> Result<Self, String> {
        let own = words_of(given, |id| id != FILE);
        let merged = match given.get_one::<PathBuf>(FILE) {
            None => own,
            Some(path) => {
                let mut settings = run_file::read(path)?;
                settings.retain(|setting| !is_given(given, &setting.id));
                settings.into_iter().flat_map(|setting| setting.words).chain(own).collect()
            }
        };
        let matches = parser().try_get_matches_from(merged);
        if let Ok(matches) = &matches {
            messages::check(matches)?;
        }
        let parsed = matches.and_then(Self::parsed);
        let (options, words) = parsed.map_err(|error: clap::Error| error.to_string())?;
        options.check()?;
        Ok(Self { options, words })
    }

    /// The run with these words as its command line.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn of_words(words: &[OsString]) -> Result<Self, String> {
        let given = parser().try_get_matches_from(words);
        Self::read(&given.map_err(|error| error.to_string())?)
    }

    /// The options and their words. A card that is named is joined by Ethernet, unless the NIC is
    /// named, too.
    fn parsed(mut matches: ArgMatches) -> Result<(RunOptions, Vec<OsString>), clap::Error> {
        if is_given(&matches, "card") && !is_given(&matches, "nic") {
            let joint = ["--nic", NicMode::Ethernet.name()].map(OsString::from);
            matches = parser().try_get_matches_from(joint.into_iter().chain(words(&matches)))?;
        }
        // The NIC half and the ports of an attached program are the agent's.
        for (id, option) in [("nic", "--nic"), ("live", "--live")] {
            if is_given(&matches, "agent") && !is_given(&matches, id) {
                let there = [option, NicMode::Agent.name()].map(OsString::from);
                matches =
                    parser().try_get_matches_from(there.into_iter().chain(words(&matches)))?;
            }
        }
        // Further on, messages are a capture or a port like others.
        if let Some(source) = matches.get_one::<MessageSource>("messages") {
            let more = source.words();
            matches = parser().try_get_matches_from(words(&matches).into_iter().chain(more))?;
        }
        Ok((RunOptions::from_arg_matches(&matches)?, words(&matches)))
    }

    /// The same run, live between internal ports that provide one frame each. It writes nothing and
    /// replaces no other run. For a program that must show that it can run.
    ///
    /// # Errors
    /// The fault.
    pub(crate) fn rehearsal(&self) -> Result<Self, String> {
        let complain = |error: clap::Error| error.to_string();
        let given = parser().try_get_matches_from(&self.words).map_err(complain)?;
        // A card at an interface serves the running program, and must not be called by another.
        let has_peer = self.options.peer().is_some();
        // So does an agent, whose NIC halves are native.
        let is_elsewhere = has_peer || self.options.agent.is_some();
        let stays = |id: &str| is_elsewhere && ["card", "nic"].contains(&id);
        let mut words = words_of(&given, |id| !LEAVES_TRACES.contains(&id) && !stays(id));
        let silent = self.options.live.as_ref().map(Ports::silent).unwrap_or_default();
        words.extend(["--live", &silent, "--pages", "4k"].map(OsString::from));
        let given = parser().try_get_matches_from(&words).map_err(complain)?;
        let options = RunOptions::from_arg_matches(&given).map_err(complain)?;
        options.check()?;
        Ok(Self { options, words })
    }
}

/// Options that make a run write, silent, reachable or long, its ports, and its pages: huge ones
/// may be reserved for only one run.
const LEAVES_TRACES: [&str; 17] = [
    "live",
    "messages",
    "control",
    "metrics",
    "log",
    "log_to",
    "state_out",
    "output",
    "ipfix",
    "moves",
    "seconds",
    "pages",
    "agent",
    "serves",
    "weight",
    "share_process",
    "sockets",
];

impl RunOptions {
    /// Whether the aarch64 program is required.
    pub fn needs_nic_image(&self) -> bool {
        self.nic == NicMode::Emulated
    }

    /// Whether a program for a card is required, and none was named.
    pub fn needs_card_program(&self) -> bool {
        let is_emulated = matches!(self.card, None | Some(CardName::Emulated));
        self.nic.is_card() && is_emulated && self.card_program.is_none()
    }

    /// The card at an interface, if the run has such a one.
    pub(crate) const fn peer(&self) -> Option<&Peer> {
        if let Some(CardName::At(peer)) = &self.card { Some(peer) } else { None }
    }

    /// Whether packets come in by ports of a card.
    pub(crate) fn ports_are_of_card(&self) -> bool {
        self.live.as_ref().is_some_and(Ports::are_of_card)
    }

    /// Whether packets go on while a card is away: live ones that come in here.
    pub(crate) fn has_bypass(&self) -> bool {
        self.nic == NicMode::Ethernet && self.live.is_some() && !self.ports_are_of_card()
    }

    /// The input capture, unless the run is live.
    pub fn capture(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    /// How this program reads the capture.
    pub(crate) fn reading<A: App>(&self) -> Reading {
        let link_types = if self.make_ethernet { LinkTypes::MadeUp } else { LinkTypes::Ethernet };
        let inside = self.inside.clone().unwrap_or_default();
        Reading { inside, heads: A::HEADS, link_types, up_to_cut: true }
    }

    /// Whether output packets go to standard output, so that nothing else may.
    pub(crate) fn writes_standard_output(&self) -> bool {
        self.output.as_deref() == Some(Path::new(STANDARD))
    }

    /// Whether a controller is requested although no flow can move.
    pub(crate) fn decides_in_vain(&self) -> bool {
        self.nic == NicMode::Off && self.moves != Moves::Plan
    }

    /// How long a working half may make no progress.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.patience.unwrap_or(PATIENCE).into())
    }

    /// What messages may cost before their class is treated apart.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let ns = |micros: u32| u64::from(micros) * 1_000;
        let tail = ns(self.message_tail?);
        Some(Limits { tail, round: tail / 4, mean: self.message_mean.map_or(u64::MAX, ns) })
    }

    /// The same for a half that starts or ends.
    pub(crate) fn slow_patience(&self) -> Duration {
        Duration::from_secs(self.patience.unwrap_or(SLOW_PATIENCE).into())
    }
}

/// The options alone, as a command line.
pub(crate) fn parser() -> Command {
    RunOptions::augment_args(Command::new("run").no_binary_name(true).disable_help_flag(true))
}

/// The parser for a number of shards.
pub fn shard_count() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(MOST_SHARDS))
}

/// Parses a configuration for a read-mostly state: `State=file`.
///
/// # Errors
/// The expected form.
pub fn configuration(text: &str) -> Result<(String, PathBuf), String> {
    let (state, file) =
        text.split_once('=').ok_or("write it as State=file, for example Backends=backends.txt")?;
    Ok((state.into(), file.into()))
}

fn change(text: &str) -> Result<(u64, String, PathBuf), String> {
    let (packet, change) = text
        .split_once(':')
        .ok_or("write it as N:State=file, for example 1000:Backends=backends.txt")?;
    let packet = packet.parse().map_err(|_| format!("`{packet}` is not a packet's number"))?;
    let (state, file) = configuration(change)?;
    Ok((packet, state, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> ArgMatches {
        parser().try_get_matches_from(line.split_whitespace()).unwrap()
    }

    fn said(words: &[OsString]) -> String {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn all_that_is_given_is_passed_on_and_nothing_else() {
        let line = "--nic emulated --in a.pcap --out b.pcap --json --state-out s.json --config A=x --config B=y \
                    --change 7:A=z --inside 10.0.0.0/8 --shards 3 --moves adapt:log --restarts 0 --pages hugetlb \
                    --ipfix udp:h:1";
        assert_eq!(
            said(&words(&given(line))),
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        );
        assert_eq!(said(&words(&given("--in=a.pcap"))), "--in a.pcap");
        assert_eq!(said(&words(&given("--out=-b --in a"))), "--in a --out=-b");
        assert_eq!(
            said(&words(&given("--live inside=tap:a,outside=tap:b --seconds 5 --control c"))),
            "--live inside=tap:a,outside=tap:b --seconds 5 --control c"
        );
    }

    #[test]
    fn a_rehearsal_leaves_no_traces_and_keeps_the_rest() {
        let line = "--live inside=tap:a,outside=tap:b --nic native --control c --state-out s --ipfix f --moves adapt:l \
                    --seconds 9 --config A=x --pages hugetlb --log off --log-to l";
        let rehearsal = Run::read(&given(line)).unwrap().rehearsal().unwrap();
        let words = said(&rehearsal.words);
        let silent = "inside=mem:flows=1;size=60;count=1,outside=mem:flows=1;size=60;count=1";
        assert_eq!(words, format!("--nic native --config A=x --live {silent} --pages 4k"));
        let RunOptions { control, state_out, ipfix, seconds, .. } = rehearsal.options;
        assert!(control.is_none() && state_out.is_none() && ipfix.is_none() && seconds.is_none());
    }

    #[test]
    fn a_rehearsal_calls_no_card() {
        let line = "--live card --card w0,02:00:00:00:01:02 --control c --config A=x";
        let rehearsal = Run::read(&given(line)).unwrap().rehearsal().unwrap();
        let RunOptions { nic, card, live, .. } = &rehearsal.options;
        assert!(*nic == NicMode::Native && card.is_none(), "{rehearsal:?}");
        assert_eq!(live.as_ref().unwrap().all().len(), 2);
        let local = format!("--card local {}", "--live inside=tap:a,outside=tap:b");
        let rehearsal = Run::read(&given(&local)).unwrap().rehearsal().unwrap();
        assert_eq!(rehearsal.options.card, Some(CardName::Local), "it is this program's own");
    }

    #[test]
    fn what_does_not_go_together_is_said_at_once() {
        let refused = |line: &str| Run::read(&given(line)).unwrap_err();
        assert!(refused("--nic off").contains("--in FILE, or --live PORTS"));
        let live = "--live inside=tap:a,outside=tap:b";
        let all = refused(&format!("{live} --in a --out b --nic off --shards 2 --change 1:A=f"));
        for option in ["--in and --live", "--out is", "--live needs a NIC", "--change is"] {
            assert!(all.contains(option), "{option}: {all}");
        }
        assert_eq!(all.lines().count(), 4, "{all}");
        assert_eq!(refused("--in a --control c --seconds 5").lines().count(), 2);
        assert!(refused("--in a --log debug").contains("--log and --log-to are for live runs"));
        assert_eq!(refused("--in a --log-to f --log off").lines().count(), 1);
        assert!(refused("--in a --nic off --restarts 2").contains("--restarts is"));
        assert_eq!(refused("--in a --messages a"), "--messages and --in: say one of them");
        let both = refused(&format!("{live} --messages udp:127.0.0.1:7000"));
        assert_eq!(both, "--messages and --live: say one of them");
        assert!(refused("--messages udp:127.0.0.1:7000 --nic off").contains("--live needs a NIC"));
        let twice = refused("--in a --config A=x --config B=y --config A=z");
        assert_eq!(twice, "--config A is said twice: a state has one file");
        for fine in [
            &format!("{live} --seconds 5 --restarts 2 --shards 3"),
            "--in a --shards 2 --restarts 3 --change 1:A=f",
        ] {
            assert!(Run::read(&given(fine)).is_ok(), "{fine}");
        }
    }

    #[test]
    fn messages_come_from_a_capture_or_by_a_socket_as_packets_do() {
        let capture = Run::read(&given("--messages a.pcap --out b.pcap --json")).unwrap();
        assert_eq!(capture.options.capture(), Some(Path::new("a.pcap")));
        let socket = Run::read(&given("--messages udp:[::1]:7000 --seconds 5")).unwrap();
        let [port] = socket.options.live.as_ref().unwrap().all() else { panic!("one port") };
        assert_eq!(port.device.to_string(), "udp:[::1]:7000");
        // The processes of the run read the words once more.
        let again = parser().try_get_matches_from(&socket.words).unwrap();
        assert_eq!(RunOptions::from_arg_matches(&again).unwrap().live, socket.options.live);
        let rehearsal = socket.rehearsal().unwrap().options;
        assert_eq!(rehearsal.live.unwrap().all().len(), 2);
    }

    #[test]
    fn a_card_says_how_it_is_joined() {
        let read = |line: &str| Run::read(&given(line));
        for (line, nic) in [
            ("--in a --card local", NicMode::Ethernet),
            ("--in a --card emulated", NicMode::Ethernet),
            ("--in a --card emulated --nic card:window", NicMode::Window),
            ("--live card --card w0,02:00:00:00:01:02", NicMode::Ethernet),
            ("--in a --card local --shards 2", NicMode::Ethernet),
        ] {
            let run = read(line).unwrap();
            assert_eq!(run.options.nic, nic, "{line}");
            // A half that gets the words has the same.
            let again = read(&said(&run.words)).unwrap();
            assert_eq!((again.options.nic, again.words), (nic, run.words), "{line}");
        }
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("run.toml");
        std::fs::write(&path, "in = \"a.pcap\"\ncard = \"local\"\n").unwrap();
        let run = read(&format!("--file {}", path.display())).unwrap();
        assert_eq!((run.options.nic, run.options.card), (NicMode::Ethernet, Some(CardName::Local)));
        for (line, why) in [
            ("--in a --nic off --card local", "--card is for --nic card:ethernet"),
            ("--in a --nic card:window --card local", "--card and --nic card:window"),
            ("--live card --card local", "--live card: say which card has the ports"),
            ("--live card --card emulated", "--live card: say which card has the ports"),
            ("--in a --card local --card-program f", "a local card runs this program itself"),
        ] {
            let refused = read(line).unwrap_err();
            assert!(refused.contains(why) && refused.lines().count() == 1, "{line}: {refused}");
        }
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("run.toml");
        std::fs::write(
            &path,
            "in = \"a.pcap\"\nnic = \"off\"\nconfig = [\"A=x\"]\nshards = 2\njson = true\n",
        )
        .unwrap();
        let path = path.display();
        let run = Run::read(&given(&format!("--file {path}"))).unwrap();
        assert_eq!(run.options.capture(), Some(&*room.path().join("a.pcap")));
        assert!(run.options.nic == NicMode::Off && run.options.shards == 2 && run.options.json);
        let run =
            Run::read(&given(&format!("--file {path} --config B=y --shards 3 --in b"))).unwrap();
        assert_eq!(run.options.configurations, [("B".to_owned(), PathBuf::from("y"))]);
        assert_eq!((run.options.shards, run.options.capture()), (3, Some(Path::new("b"))));
        assert!(run.options.nic == NicMode::Off && run.options.json);
        // The receiver of the words needs no file.
        let again = Run::read(&parser().try_get_matches_from(&run.words).unwrap()).unwrap();
        assert!(!said(&run.words).contains("--file") && again.words == run.words);
    }
}
