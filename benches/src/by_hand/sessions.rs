//! The sessions of the NAT: a look-up by inside packet reads one line, by public port two.
//!
//! A new lease of an expired port removes its old session, so at most half of the places are ever
//! taken.

use cora_core::prefetch::prefetch;

use super::tcp;

pub(super) const FIRST_PORT: u16 = 32_768;
pub(super) const PORTS: usize = 32_768;
/// At most half of them are taken; a 16-bit hash is a place.
const PLACES: usize = 65_536;
/// Milliseconds, like all times here.
pub(super) const IDLE: u32 = 300_000;
pub(super) const LEASE: u32 = 2 * IDLE;
const TCP: u32 = 6;

/// The key of an inside packet, addresses in network order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Key {
    pub(super) inside: u32,
    pub(super) remote: u32,
    pub(super) inside_port: u16,
    pub(super) remote_port: u16,
    pub(super) protocol: u32,
}

/// A translated connection: half a line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Session {
    pub(super) key: Key,
    /// Time of the last packet; 0 in an empty place.
    pub(super) used: u32,
    pub(super) leased_until: u32,
    /// The public port, counted from the first one.
    pub(super) port: u16,
    /// The start of the search for it.
    pub(super) home: u16,
    pub(super) state: u8,
}

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    places: Box<[Session; PLACES]>,
    /// The place of each port's session, if it still has that port.
    place_of: Box<[u16; PORTS]>,
    leased_until: Box<[u32; PORTS]>,
    next: usize,
    pub(super) now: u32,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            places: boxed(Session::default()),
            place_of: boxed(0),
            leased_until: boxed(0),
            next: 0,
            now: 1,
        }
    }

    /// Returns the number of taken places.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.places.iter().filter(|session| session.used != 0).count()
    }

    /// Returns the end of the lease of a public port, counted from the first one.
    #[cfg(test)]
    pub(super) fn leased_until(&self, port: u16) -> u32 {
        self.leased_until[usize::from(port)]
    }

    /// Prefetches the line of a place.
    #[inline]
    pub(super) fn prefetch(&self, at: u16) {
        prefetch(&self.places[usize::from(at)]);
    }

    /// Returns the last place of the session of a public port, counted from the first one.
    #[inline]
    pub(super) fn place_of(&self, port: u16) -> u16 {
        self.place_of[usize::from(port) % PORTS]
    }

    #[inline]
    pub(super) fn at(&self, at: u16) -> &Session {
        &self.places[usize::from(at)]
    }

    /// Returns the place of an inside packet's session, or the empty place for it.
    #[inline]
    pub(super) fn find(&self, key: &Key, home: u16) -> u16 {
        let mut at = home;
        loop {
            let place = &self.places[usize::from(at)];
            if place.used == 0 || place.key == *key {
                return at;
            }
            at = at.wrapping_add(1);
        }
    }

    #[inline]
    pub(super) fn is_alive(&self, at: u16) -> bool {
        let used = self.places[usize::from(at)].used;
        used != 0 && self.now.wrapping_sub(used) < IDLE
    }

    /// Advances a session by a packet; `None` if the packet is out of place.
    #[inline]
    pub(super) fn use_by(&mut self, at: u16, flags: u8, original: bool) -> Option<()> {
        let session = &mut self.places[usize::from(at)];
        session.used = self.now;
        if session.key.protocol == TCP {
            session.state = tcp::advance(session.state, flags, original)?;
        }
        Some(())
    }

    /// Extends a session's lease before it expires; a closed session's lease ends with its last
    /// packets.
    #[inline]
    pub(super) fn renew(&mut self, at: u16) {
        let session = &mut self.places[usize::from(at)];
        let until = if tcp::is_closed(session.state) {
            self.now + IDLE
        } else if self.now + IDLE > session.leased_until {
            self.now + LEASE
        } else {
            return;
        };
        session.leased_until = until;
        self.leased_until[usize::from(session.port)] = until;
    }

    /// Opens a session with a port of its own; `None` if no port is left.
    #[cold]
    pub(super) fn open(&mut self, key: Key, home: u16, flags: u8) -> Option<u16> {
        let state = if key.protocol == TCP { tcp::pick_up(flags)? } else { tcp::NEW };
        let port = self.lease()?;
        let at = self.find(&key, home);
        let (used, leased_until) = (self.now, self.now + LEASE);
        let session = Session { key, used, leased_until, port, home, state };
        self.places[usize::from(at)] = session;
        self.place_of[usize::from(port)] = at;
        Some(at)
    }

    /// Returns the first free port from the end of the last search on, so that a port rests before
    /// reuse.
    fn lease(&mut self) -> Option<u16> {
        for _ in 0..PORTS {
            let port = self.next % PORTS;
            self.next += 1;
            if self.leased_until[port] <= self.now {
                self.leased_until[port] = self.now + LEASE;
                let at = self.place_of[port];
                let former = &self.places[usize::from(at)];
                if former.used != 0 && usize::from(former.port) == port {
                    self.take_out(at);
                }
                return Some(port as u16);
            }
        }
        None
    }

    /// Empties a place, and moves up the entries behind it that a search would miss.
    fn take_out(&mut self, mut hole: u16) {
        let mut at = hole.wrapping_add(1);
        while self.places[usize::from(at)].used != 0 {
            let session = self.places[usize::from(at)];
            if at.wrapping_sub(session.home) >= at.wrapping_sub(hole) {
                self.places[usize::from(hole)] = session;
                self.place_of[usize::from(session.port)] = hole;
                hole = at;
            }
            at = at.wrapping_add(1);
        }
        self.places[usize::from(hole)] = Session::default();
    }
}

/// Makes a boxed array of a constant length, which saves bounds checks.
fn boxed<T: Clone + std::fmt::Debug, const N: usize>(value: T) -> Box<[T; N]> {
    vec![value; N].try_into().expect("as many values")
}
