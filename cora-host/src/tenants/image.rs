//! Processes with the NIC halves of many tenants that brought the same program.
//!
//! Its tenants share an address space, and nothing else: each half has states and regions of its
//! own. Each user has chosen the program that shares it; the halves are apart there since Rust has
//! no way from one to another. It works for one tenant at a time.
#![expect(unsafe_code, reason = "uses a page that is unmapped with the process")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;

use cora_runtime::link::region::{Region, wake};
use cora_runtime::link::ring::{Producer, SharedMemory};
use cora_runtime::node::Order;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::attach::address::ServedAt;
use crate::attach::{letter, rooms};
use crate::memory::map::{self, Mapping};
use crate::tenants::listener::Needs;
use crate::tenants::process::{Duty, Process};
use crate::tenants::worker::Worker;
use crate::{RunError, SharedFutex};

/// The processes, and tenants that may have no room in one any more.
#[derive(Debug, Default)]
pub(super) struct Images {
    all: Vec<Rc<RefCell<Image>>>,
    banned: VecDeque<(Identity, Vec<ServedAt>)>,
}

impl Images {
    /// Starts a half in the process of its program, and the process, if there is none.
    pub(super) fn enter(&mut self, needs: &Needs, most: u64) -> Result<Worker, RunError> {
        let program = Identity::of(&needs.program)?;
        let place = |image: &Rc<RefCell<Image>>| {
            let mut its = image.borrow_mut();
            let is_it = its.program == program && its.process.look().is_ok_and(|it| it.is_none());
            let room = is_it.then(|| its.enter(needs.regions.as_fd(), needs.bytes)).flatten()?;
            Some(Worker::Room(Rc::clone(image), room))
        };
        if let Some(worker) = self.all.iter().find_map(place) {
            return Ok(worker);
        }
        let memory = most.saturating_mul(MOST_ROOMS as u64);
        let image = Rc::new(RefCell::new(Image::start(&needs.program, memory)?));
        self.all.push(Rc::clone(&image));
        let room = image.borrow_mut().enter(needs.regions.as_fd(), needs.bytes);
        let failed = || RunError::System {
            what: "a room in a process",
            cause: std::io::ErrorKind::StorageFull.into(),
        };
        Ok(Worker::Room(image, room.ok_or_else(failed)?))
    }

    /// Ends a process in which a half hung, which may not come back there.
    pub(super) fn ban(&mut self, image: &Rc<RefCell<Image>>, at: &[ServedAt]) {
        let mut image = image.borrow_mut();
        image.process.end();
        if self.banned.len() == MOST_BANNED {
            self.banned.pop_front();
        }
        self.banned.push_back((image.program, at.to_vec()));
    }

    /// Whether such a half hung.
    pub(super) fn is_banned(&self, needs: &Needs, at: &[ServedAt]) -> bool {
        Identity::of(&needs.program).is_ok_and(|program| {
            self.banned.iter().any(|(its, there)| *its == program && there == at)
        })
    }

    /// Ends processes without a tenant.
    pub(super) fn sweep(&mut self) {
        self.all.retain(|image| !image.borrow().is_empty());
    }
}

/// Most rooms of a process.
const MOST_ROOMS: usize = 1024;
/// So many that hung are remembered.
const MOST_BANNED: usize = 1024;

/// Which program it is: a file that has not been changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity([u64; 4], [i64; 2]);

impl Identity {
    /// That of a file.
    pub(super) fn of(program: &File) -> Result<Self, RunError> {
        let failed = |cause| RunError::System { what: "the program's file", cause };
        let there = program.metadata().map_err(failed)?;
        Ok(Self(
            [there.dev(), there.ino(), there.size(), there.mode().into()],
            [there.ctime(), there.ctime_nsec()],
        ))
    }
}

/// The process.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) program: Identity,
    process: Process,
    socket: OwnedFd,
    orders: Producer<SharedMemory>,
    page: Region,
    /// Whether each room is taken.
    rooms: Vec<bool>,
    /// The rooms at work, in the order of their turns, and those that begin.
    at_work: VecDeque<u16>,
    begin: Vec<u16>,
    /// The time of the process that was charged to tenants (ns).
    charged: u64,
    /// The last field: it is dropped after all that is made of it.
    _memory: Mapping,
}

impl Image {
    /// Starts it, with so many bytes of memory for all states.
    pub(super) fn start(program: &File, memory: u64) -> Result<Self, RunError> {
        let failed = |errno: rustix::io::Errno| RunError::System {
            what: "memory for orders",
            cause: errno.into(),
        };
        let layout = rooms::LAYOUT;
        let file = map::memory(layout.bytes()).map_err(failed)?;
        let mapping = Mapping::of(file.as_fd(), layout.bytes()).map_err(failed)?;
        // SAFETY: all that is made of these words is in private fields, and dropped before the
        // mapping.
        let words = unsafe { mapping.words() };
        let page = Region::create(words, &layout, rooms::identity()).map_err(RunError::Region)?;
        let (own, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let duty = Duty::Rooms(file.as_fd(), its.as_fd());
        Ok(Self {
            program: Identity::of(program)?,
            process: Process::start(program, duty, memory)?,
            socket: own,
            orders: Producer::new(page.rings().wire_in),
            page,
            rooms: Vec::new(),
            at_work: VecDeque::new(),
            charged: 0,
            begin: Vec::new(),
            _memory: mapping,
        })
    }

    /// Makes room for a half on the regions in this file; `None` if there is none.
    pub(super) fn enter(&mut self, regions: BorrowedFd<'_>, length: usize) -> Option<u16> {
        let free = self.rooms.iter().position(|is_taken| !is_taken);
        let number = free.unwrap_or(self.rooms.len());
        let room = u16::try_from(number).ok().filter(|_| number < MOST_ROOMS)?;
        letter::send(&self.socket, &room, &[regions]).ok()?;
        if !self.order(Order::Begin { room, fd: -1, length }) {
            return None;
        }
        match self.rooms.get_mut(number) {
            Some(is_taken) => *is_taken = true,
            None => self.rooms.push(true),
        }
        self.begin.push(room);
        Some(room)
    }

    /// Has the half in this room work.
    pub(super) fn call(&mut self, room: u16) {
        self.at_work.push_back(room);
        // A ring that is full has orders enough: the turn ends as late as it would.
        let _written = rooms::write(&mut self.orders, Order::Turn { room });
    }

    /// Wakes the process, for the turns that were given.
    pub(super) fn wake(&self) {
        wake(&self.page.nic_bell(SharedFutex));
    }

    /// The time that it took since this was asked last (ns).
    pub(super) fn took(&mut self) -> u64 {
        let time = self.process.time();
        let took = time.saturating_sub(self.charged);
        self.charged = self.charged.max(time);
        took
    }

    /// The turn of the half in this room is over, or its beginning.
    pub(super) fn rests(&mut self, room: u16) {
        self.begin.retain(|it| *it != room);
        self.at_work.retain(|it| *it != room);
    }

    /// Whether it works for another room than this one.
    pub(super) fn is_busy_for_others(&self, room: u16) -> bool {
        self.at_work.iter().chain(&self.begin).any(|it| *it != room)
    }

    /// Whether it works for this room now, and not for one before it.
    pub(super) fn is_at(&self, room: u16) -> bool {
        self.at_work.front() == Some(&room)
    }

    /// Makes the room free.
    pub(super) fn leave(&mut self, room: u16) {
        self.rests(room);
        self.order(Order::Leave { room });
        if let Some(is_taken) = self.rooms.get_mut(usize::from(room)) {
            *is_taken = false;
        }
    }

    /// Whether nobody is there.
    pub(super) fn is_empty(&self) -> bool {
        self.rooms.iter().all(|is_taken| !is_taken)
    }

    /// Its process.
    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The time that it took of a processor (ns).
    pub(super) fn time(&self) -> u64 {
        self.process.time()
    }

    fn order(&mut self, order: Order) -> bool {
        let written = rooms::write(&mut self.orders, order);
        wake(&self.page.nic_bell(SharedFutex));
        written
    }
}
