//! The rest of an end of a link: it sleeps until a frame comes or a half of its side rings, or
//! until something is due.
//!
//! The kernel waits for files, or for a futex, and not for both at once. So a thread waits for the
//! bell while the end sleeps, and makes a file readable when it is rung. It sleeps on while the end
//! is awake, and costs nothing.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cora_runtime::link::region::{Bell, BellWord};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};

use crate::card::wire::Wire;
use crate::{RunError, SharedFutex};

/// How long the thread waits for a bell at once. Its end may have gone on to another bell.
const LISTENS: Duration = Duration::from_secs(1);

/// The files that end a rest.
#[derive(Debug)]
pub struct Watch {
    files: OwnedFd,
    rung: Arc<OwnedFd>,
    shared: Arc<Shared>,
    thread: OnceLock<bool>,
}

/// The bell that is listened to while its end sleeps, and the word of one that sleeps.
type Heard = Option<(Bell<SharedFutex>, u32)>;

#[derive(Debug, Default)]
struct Shared {
    bell: Mutex<Heard>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for bells, for the whole life of the process.
    fn listen(&self, rung: &OwnedFd) {
        let mut heard = self.lock();
        loop {
            let Some((bell, asleep)) = *heard else {
                heard = self.changed.wait(heard).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(heard);
            bell.wait(asleep, LISTENS);
            heard = self.lock();
            let is_same = heard.is_some_and(|(now, _)| now == bell);
            if is_same && bell.load() != asleep {
                // Its end wakes, or is awake. It says so when it sleeps again.
                *heard = None;
                let _full = rustix::io::write(rung, &1_u64.to_ne_bytes());
            }
        }
    }
}

impl Watch {
    /// Watches this wire.
    ///
    /// # Errors
    /// If the kernel has no more files for this process.
    pub fn over(wire: &Wire) -> Result<Self, RunError> {
        let failed = |errno: rustix::io::Errno| RunError::System {
            what: "waiting for a wire",
            cause: errno.into(),
        };
        let files = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let rung = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let (rung, shared) = (Arc::new(rung), Arc::default());
        let watch = Self { files, rung, shared, thread: OnceLock::new() };
        watch.add(&[watch.rung.as_fd()])?;
        watch.add(&wire.handles())?;
        Ok(watch)
    }

    /// Watches these files, too.
    pub(super) fn add(&self, files: &[BorrowedFd<'_>]) -> Result<(), RunError> {
        for file in files {
            let (data, flags) = (epoll::EventData::new_u64(0), epoll::EventFlags::IN);
            epoll::add(&self.files, file, data, flags).map_err(|errno| RunError::System {
                what: "waiting for a file",
                cause: errno.into(),
            })?;
        }
        Ok(())
    }

    /// A rest by a bell of a half's region, or without one.
    pub fn rest(&self, bell: Option<Bell<SharedFutex>>) -> Rest<'_> {
        Rest { watch: self, bell, alone: Cell::new(0) }
    }

    /// From now on a ring of this bell, whose word is `asleep`, ends a rest.
    fn listen_to(&self, bell: Bell<SharedFutex>, asleep: u32) {
        self.thread.get_or_init(|| {
            let (shared, rung) = (Arc::clone(&self.shared), Arc::clone(&self.rung));
            let name = std::thread::Builder::new().name("bell".to_owned());
            // Without it a rest lasts to its end, which comes soon.
            name.spawn(move || shared.listen(&rung)).is_ok()
        });
        match self.shared.lock().replace((bell, asleep)) {
            Some((before, _)) if before == bell => {}
            // The thread waits for that one.
            Some((before, _)) => before.wake(),
            None => self.shared.changed.notify_one(),
        }
    }

    fn wait(&self, at_most: Duration) {
        let at_most = Timespec {
            tv_sec: at_most.as_secs().cast_signed(),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        let mut files = [PollFd::new(&self.files, PollFlags::IN)];
        // The caller looks again in any case.
        let _ready = poll(&mut files, Some(&at_most));
        let _nothing = rustix::io::read(&*self.rung, &mut [0_u8; 8][..]);
    }
}

/// The bell of an end that rests: that of its side's region, if there is one.
#[derive(Debug)]
pub struct Rest<'a> {
    watch: &'a Watch,
    bell: Option<Bell<SharedFutex>>,
    /// In the place of a bell.
    alone: Cell<u32>,
}

impl BellWord for Rest<'_> {
    fn load(&self) -> u32 {
        self.bell.map_or_else(|| self.alone.get(), |bell| bell.load())
    }

    fn store(&self, value: u32) {
        match self.bell {
            Some(bell) => bell.store(value),
            None => self.alone.set(value),
        }
    }

    fn fence(&self) {
        if let Some(bell) = self.bell {
            bell.fence();
        }
    }

    fn wait(&self, value: u32, at_most: Duration) {
        if let Some(bell) = self.bell {
            self.watch.listen_to(bell, value);
        }
        self.watch.wait(at_most);
    }

    fn wake(&self) {
        if let Some(bell) = self.bell {
            bell.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Instant;

    use cora_runtime::link::region::{
        HashSeed, Identity, Region, RegionLayout, Woken, sleep, wake,
    };

    use super::*;
    use crate::memory::map::shared_memory;

    /// Longer than any sleep here lasts, unless it is not ended.
    const LONG: Duration = Duration::from_mins(1);

    fn region() -> Region {
        let layout = RegionLayout::new([4096; 4]).expect("possible sizes");
        let (_, words) = shared_memory(layout.bytes()).expect("memory");
        let seed = HashSeed(1);
        let identity = Identity { plan: 1, generation: 1, seed, resident: false, afresh: false };
        Region::create(words, &layout, identity).expect("long enough")
    }

    #[test]
    fn a_rest_ends_by_a_frame_by_a_ring_of_the_present_bell_or_by_itself() {
        let (own, other) = UnixDatagram::pair().expect("sockets");
        let mut wire = Wire::of_host(own.into()).expect("a wire");
        let watch = Watch::over(&wire).expect("files");
        let nothing = || Ok::<_, RunError>(true);
        let begun = Instant::now();
        for region in [region(), region()] {
            let bell = region.host_bell(SharedFutex);
            let rest = || watch.rest(Some(bell));
            for _ in 0..3 {
                let is_rung = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        while !is_rung.load(Relaxed) {
                            wake(&bell);
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                    // A ring that came between two rests ends the next one early.
                    while matches!(sleep(&rest(), LONG, nothing), Ok(Woken::Time)) {}
                    is_rung.store(true, Relaxed);
                });
                other.send(&[7; 60]).expect("room");
                assert_eq!(sleep(&rest(), LONG, nothing).ok(), Some(Woken::Time));
                assert_eq!(wire.receive(&mut |_| ()).expect("it is there"), 1);
                let short = Duration::from_millis(1);
                assert_eq!(sleep(&rest(), short, nothing).ok(), Some(Woken::Time));
            }
        }
        assert_eq!(
            sleep(&watch.rest(None), Duration::from_millis(1), nothing).ok(),
            Some(Woken::Time)
        );
        assert!(begun.elapsed() < LONG, "a sleep was not ended");
    }
}
