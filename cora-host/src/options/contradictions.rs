//! Options that contradict each other, from any source.

use super::{NicMode, RunOptions};
use crate::options::card_name::CardName;

impl RunOptions {
    /// Checks for contradicting options, from any source.
    pub(super) fn check(&self) -> Result<(), String> {
        use CardName::{Emulated, Local};
        let live = self.live.is_some();
        let wrong = [
            (
                !live && self.input.is_none(),
                "a run needs packets: say --in FILE, or --live PORTS, or --messages WHERE",
            ),
            (live && self.input.is_some(), "--in and --live: say one of them"),
            (
                live && self.nic == NicMode::Off,
                "--live needs a NIC: --nic native, --nic emulated or --nic card",
            ),
            (
                live && self.output.is_some(),
                "--out is for captures: with --live, packets leave by the ports",
            ),
            (
                live && !self.changes.is_empty(),
                "--change is for captures: a live run is told by --control",
            ),
            (
                !self.nic.is_card() && self.card_program.is_some(),
                "--card-program is for --nic card",
            ),
            (
                !self.nic.is_card() && self.card.is_some(),
                "--card is for --nic card:ethernet, which need not be said",
            ),
            (
                self.nic == NicMode::Window && !matches!(self.card, None | Some(Emulated)),
                "--card and --nic card:window: only an emulated card has a window, so say --nic card:ethernet",
            ),
            (
                self.peer().is_none() && self.agent.is_none() && self.ports_are_of_card(),
                "--live card: say which card has the ports, by --card IFACE,MAC",
            ),
            (
                self.shards > 1 && self.peer().is_some(),
                "--card and --shards: a card at an interface has one shard",
            ),
            (
                self.peer().is_some() && self.card_program.is_some(),
                "--card and --card-program: a card that is there has a program",
            ),
            (
                self.card == Some(Local) && self.card_program.is_some(),
                "--card local and --card-program: a local card runs this program itself",
            ),
            (
                self.nic == NicMode::Off && self.restarts.is_some(),
                "--restarts is for halves that die: with --nic off there is none",
            ),
            (!live && self.control.is_some(), "--control is for live runs: say --live PORTS, too"),
            (
                !live && self.log.is_given(),
                "--log and --log-to are for live runs: say --live PORTS, too",
            ),
            (!live && self.metrics.is_some(), "--metrics is for live runs: say --live PORTS, too"),
            (!live && self.seconds.is_some(), "--seconds is for live runs: say --live PORTS, too"),
        ];
        let wrong = wrong.into_iter().chain(self.about_an_agent());
        let wrong = wrong.filter(|(is, _)| *is).map(|(_, why)| why.to_owned());
        let wrong: Vec<String> = wrong.chain(self.said_twice()).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

impl RunOptions {
    /// Options of an attached program.
    fn about_an_agent(&self) -> [(bool, &'static str); 5] {
        let live = self.live.is_some();
        [
            (
                self.agent.is_some() != (self.nic == NicMode::Agent),
                "--agent is for --nic agent, which need not be said",
            ),
            (
                self.agent.is_some() && live && !self.ports_are_of_card(),
                "--agent and --live PORTS: the ports are the agent's",
            ),
            (
                self.agent.is_some() && self.serves.is_empty() && self.sockets.is_empty(),
                "--agent: say where the server is asked, by --serves udp:ADDRESS:PORT",
            ),
            (
                self.agent.is_none()
                    && (!self.serves.is_empty() || self.weight.is_some() || self.share_process),
                "--serves, --weight and --share-process are for --agent SOCKET",
            ),
            (
                self.shards > 1 && self.agent.is_some(),
                "--agent and --shards: an attached program has one shard",
            ),
        ]
    }

    /// States with several files, of which only one would be used.
    fn said_twice(&self) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let again = self.configurations.iter().filter(|(state, _)| !seen.insert(state));
        again
            .map(|(state, _)| format!("--config {state} is said twice: a state has one file"))
            .collect()
    }
}
