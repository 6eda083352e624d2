//! Waiting times of packets and flows because of moves, as the wire sees them.

use cora_runtime::channel::TICKETS;

use super::spread::Spread;

/// Most packets inside at a time; more than rings and queues hold.
const INSIDE: usize = 1 << 18;

/// State of a flow, as the NIC sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Settled,
    /// Offered: its packets wait.
    OnItsWay,
    /// Given back, without a packet since.
    Recalled,
}

/// A packet inside.
#[derive(Clone, Copy)]
struct Inside {
    /// Time when it came, or should have come (ns).
    due: u64,
    /// State of its flow at that time.
    flow: Place,
}

/// The parts of the latest transfer, as the NIC sees them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) entries: u32,
    pub(super) bytes: u64,
    /// From its first message to its last.
    pub(super) copy_ns: u64,
    /// From there until the packets that waited for it had run.
    pub(super) waiting_ns: u64,
}

/// Waiting times by cause.
pub(super) struct Tally {
    /// From the offer until the flow's packets ran at the NIC.
    pub(super) pauses: Spread,
    /// Packets that came while their flow was on its way to the NIC, until they left.
    pub(super) held: Spread,
    /// The first packet behind a recall, until it left.
    pub(super) recalled: Spread,
    /// All other packets.
    pub(super) others: Spread,
    places: Vec<Place>,
    inside: Vec<Inside>,
    /// Flow and time of the offer under each ticket.
    offers: [Option<(u32, u64)>; TICKETS],
    /// Ticket of the flow that arrives, and the number of entries still to come.
    incoming: Option<(u32, u32)>,
    pub(super) parts: Parts,
    /// Begin of the latest part.
    part: u64,
}

impl Tally {
    pub(super) fn new(flows: usize) -> Self {
        Self {
            pauses: Spread::new(),
            held: Spread::new(),
            recalled: Spread::new(),
            others: Spread::new(),
            places: vec![Place::Settled; flows],
            inside: vec![Inside { due: 0, flow: Place::Settled }; INSIDE],
            offers: [None; TICKETS],
            incoming: None,
            parts: Parts::default(),
            part: 0,
        }
    }

    /// Notes a packet of the flow that comes in.
    pub(super) fn came(&mut self, number: u64, flow: u32, due: u64) {
        let place = &mut self.places[flow as usize];
        self.inside[number as usize % INSIDE] = Inside { due, flow: *place };
        if *place == Place::Recalled {
            *place = Place::Settled;
        }
    }

    /// Notes a packet that left by `now`.
    pub(super) fn left(&mut self, number: u64, now: u64) {
        let Inside { due, flow } = self.inside[number as usize % INSIDE];
        // It came before the tally began.
        if due == 0 {
            return;
        }
        let took = now.saturating_sub(due);
        match flow {
            Place::Settled => self.others.add(took),
            Place::OnItsWay => self.held.add(took),
            Place::Recalled => self.recalled.add(took),
        }
    }

    pub(super) fn offered(&mut self, ticket: u32, flow: u32, now: u64) {
        self.offers[ticket as usize % TICKETS] = Some((flow, now));
        self.places[flow as usize] = Place::OnItsWay;
    }

    pub(super) fn transfer(&mut self, ticket: u32, entries: u32, now: u64) {
        self.incoming = Some((ticket, entries));
        (self.parts, self.part) = (Parts { entries, ..Parts::default() }, now);
    }

    pub(super) fn entry(&mut self, bytes: usize, now: u64) {
        self.parts.bytes += bytes as u64;
        if let Some((_, left)) = &mut self.incoming {
            *left -= 1;
            if *left == 0 {
                self.parts.copy_ns = now - self.part;
                self.part = now;
            }
        }
    }

    /// Returns whether the last entry of a flow came in.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.incoming, Some((_, 0)))
    }

    /// Notes that the flow is here and the packets that waited for it ran.
    pub(super) fn arrived(&mut self, now: u64) {
        let Some((ticket, _)) = self.incoming.take() else { return };
        self.parts.waiting_ns = now - self.part;
        self.end_of(ticket, Some(now));
    }

    /// Ends the offer; by a transfer, if there is a time.
    pub(super) fn end_of(&mut self, ticket: u32, arrived: Option<u64>) {
        let Some((flow, since)) = self.offers[ticket as usize % TICKETS].take() else { return };
        self.places[flow as usize] = Place::Settled;
        if let Some(now) = arrived {
            self.pauses.add(now.saturating_sub(since));
        }
    }

    pub(super) fn recalled(&mut self, flow: u32) {
        let place = &mut self.places[flow as usize];
        if *place == Place::Settled {
            *place = Place::Recalled;
        }
    }
}
