//! Connections to a service go to one of its backends, and stay there, as in the example
//! `balancer`.

use core::time::Duration;

use cora::prelude::*;

const MOST_BACKENDS: usize = 16;

const NO_BACKEND: Reason = Reason::new("no-backend");

/// The backend that a connection stays with.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable)]
pub(crate) struct Pin {
    backend: Address,
    tcp: TcpState,
    packets: u64,
}

impl Pin {
    /// As long as firewall and NAT remember the connection.
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }

    /// Moves on by another packet. One that can't be of the connection is the ends' to judge.
    fn follow(&mut self, packet: &Headers, direction: Direction) {
        let _is_of_it = self.tcp.advance(packet, direction).is_ok();
    }
}

/// The service and its backends.
#[state(read_mostly)]
pub(crate) struct Backends {
    service: Address,
    count: u8,
    addresses: [Address; MOST_BACKENDS],
}

impl Default for Backends {
    fn default() -> Self {
        let mut backends = Self::none(Address::v4([192, 0, 2, 80]));
        for host in 1..=4 {
            backends.add(Address::v4([10, 1, 0, host]));
        }
        backends
    }
}

impl Configure for Backends {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut backends = Self::none(Address::default());
        for line in
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (what, address) =
                line.split_once(' ').ok_or("a line is `service ADDRESS` or `backend ADDRESS`")?;
            let address: core::net::IpAddr =
                address.trim().parse().map_err(|_| "not an IP address")?;
            let address = Address::from(address);
            match what {
                "service" if backends.service != Address::default() => {
                    return Err("two `service` lines");
                }
                "service" => backends.service = address,
                "backend" if backends.all().contains(&address) => {
                    return Err("a backend stands there twice");
                }
                "backend" if usize::from(backends.count) == MOST_BACKENDS => {
                    return Err("more than 16 backends");
                }
                "backend" => backends.add(address),
                _ => return Err("a line is `service ADDRESS` or `backend ADDRESS`"),
            }
        }
        if backends.service == Address::default() {
            return Err("no `service ADDRESS`");
        }
        let family = backends.service.is_v4();
        if backends.all().iter().any(|backend| backend.is_v4() != family) {
            return Err("service and backends are all IPv4 or all IPv6");
        }
        Ok(backends)
    }
}

impl Backends {
    fn none(service: Address) -> Self {
        Self { service, count: 0, addresses: [Address::default(); MOST_BACKENDS] }
    }

    fn add(&mut self, backend: Address) {
        self.addresses[usize::from(self.count)] = backend;
        self.count += 1;
    }

    fn all(&self) -> &[Address] {
        self.addresses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The backend of which the flow thinks most (Thaler and Ravishankar, "Using name-based
    /// mappings to increase hit rates", 1998): when one goes, only its own connections go
    /// elsewhere.
    fn choose(&self, flow: &FiveTuple) -> Result<Address, Reason> {
        let flow = mix(&flow.words());
        let weight =
            |backend: &&Address| mix(&[flow, mix(&SourceAddress(**backend).words()), 0, 0, 0]);
        self.all().iter().max_by_key(weight).copied().ok_or(NO_BACKEND)
    }
}

/// SplitMix64's finaliser over the words of a key.
fn mix(words: &[u64; 5]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| {
        let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Connections to the service go to a backend, answers come from the service; the rest passes.
#[flow_handler]
pub(crate) fn balancer(
    packet: &mut Headers,
    pins: &mut Table<Pin>,
    backends: &Backends,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let is_over = match pins.find_mut(&flow) {
        Some((Direction::Original, pin)) if !pin.tcp.reopens(packet) => {
            pin.packets += 1;
            pin.follow(packet, Direction::Original);
            packet.set_destination(pin.backend)?;
            return Transmit;
        }
        Some((Direction::Reply, pin)) => {
            pin.packets += 1;
            pin.follow(packet, Direction::Reply);
            packet.set_source(backends.service)?;
            return Transmit;
        }
        Some((Direction::Original, _)) => true,
        None => false,
    };
    // The service is outside: its clients there are none of ours.
    if !packet.from_inside() || flow.destination != backends.service {
        return Transmit;
    }
    let backend = backends.choose(&flow)?;
    let tcp = TcpState::pick_up(packet)?;
    if is_over {
        pins.remove(&flow);
    }
    let answer = FiveTuple { source: backend, ..flow.reversed() };
    pins.insert_with_reply(flow, answer, Pin { backend, tcp, packets: 1 })?;
    packet.set_destination(backend)?;
    Transmit
}
