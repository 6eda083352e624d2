//! Frames sent at one end of a box, and the frames that come at the other.

use std::net::Ipv4Addr;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cora_port::Port;

use crate::Result;
use crate::program::{Service, run_well};
use crate::wires::frames::{Direction, udp};
use crate::wires::network::Network;

const PATIENCE: Duration = Duration::from_secs(20);
/// Sent frames arrive well before this.
const ON_ITS_WAY: Duration = Duration::from_millis(250);
/// Frames taken at once.
const BURST: usize = 64;
/// Source of the probes that wait for the first frame to pass; no result includes it.
const PROBE: Ipv4Addr = Ipv4Addr::new(10, 99, 99, 99);

/// A box with a limit, the ports at both ends, and the frames that came. The box ends when dropped,
/// before its network.
#[derive(Debug)]
pub(super) struct Passage {
    service: Option<Service>,
    sending: Box<dyn Port>,
    receiving: Box<dyn Port>,
    /// Source address and destination port of each frame that came.
    pub(super) came: Vec<(Ipv4Addr, u16)>,
    _network: Network,
}

impl Passage {
    /// Starts a program of Cora's, with this text for this state. Flows move at random meanwhile.
    pub(super) fn through_cora(
        label: &str,
        program: &Path,
        (state, text): (&str, &Path),
        seed: u64,
    ) -> Result<Self> {
        let network = Network::create(label, Direction::Outward)?;
        let mut command = network.middle.command(&program.display().to_string());
        command.args(["run", "--json", "--nic", "native"]);
        command.args(["--live", "inside=xdp:inside,outside=xdp:outside"]);
        command.args(["--moves", &format!("random:{seed}")]);
        command.args(["--config", &format!("{state}={}", text.display())]);
        let service = Service::start(&mut command)?;
        Self::begin(network, Some(service))
    }

    /// Starts the kernel as a router with these rules.
    pub(super) fn through_kernel(label: &str, rules: &str) -> Result<Self> {
        let network = Network::create(label, Direction::Outward)?;
        network.route(None)?;
        run_well(network.middle.command("nft").arg(rules), PATIENCE)?;
        Self::begin(network, None)
    }

    fn begin(network: Network, service: Option<Service>) -> Result<Self> {
        let (sending, receiving) = (network.sending("packet")?, network.receiving()?);
        let mut passage = Self { service, sending, receiving, came: Vec::new(), _network: network };
        let deadline = Instant::now() + PATIENCE;
        let probe = udp((PROBE.into(), Direction::SERVER.into()), 1, 0);
        while passage.came.is_empty() {
            if let Some(service) = &mut passage.service
                && service.has_ended()
            {
                return Err(service.last_words());
            }
            if Instant::now() > deadline {
                return Err(format!("no frame came in {PATIENCE:?}"));
            }
            passage.send(&probe)?;
            sleep(Duration::from_millis(20));
            passage.take()?;
        }
        sleep(ON_ITS_WAY);
        passage.take()?;
        passage.came.clear();
        Ok(passage)
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> Result<()> {
        if self.sending.transmit(&[frame]) == 0 {
            return Err(format!("a frame was not sent: {:?}", self.sending.counters()));
        }
        self.sending.flush().map_err(|error| error.to_string())
    }

    /// Records the frames that have come so far.
    pub(super) fn take(&mut self) -> Result<()> {
        let came = &mut self.came;
        let mut note = |frame: &[u8]| {
            let address = frame.get(26..30).and_then(<[u8]>::first_chunk::<4>);
            let port = frame.get(36..38).and_then(<[u8]>::first_chunk::<2>);
            if let (Some(address), Some(port)) = (address, port) {
                came.push((Ipv4Addr::from(*address), u16::from_be_bytes(*port)));
            }
        };
        loop {
            let taken = self.receiving.receive(BURST, &mut note);
            if taken.map_err(|error| error.to_string())? == 0 {
                return Ok(());
            }
        }
    }

    /// Records the frames still in flight; no more come later.
    pub(super) fn take_the_rest(&mut self) -> Result<()> {
        sleep(ON_ITS_WAY);
        self.take()
    }

    /// Ends the box, and checks that it ends in good order.
    pub(super) fn end(self) -> Result<()> {
        let Some(service) = self.service else { return Ok(()) };
        service.interrupt_well("the run", PATIENCE).map(drop)
    }
}
