//! The cost of an idle consumer, and its wake-up latency.

use std::thread;
use std::time::{Duration, Instant};

use cora_host::SharedFutex;
use cora_measure::ThreadTime;
use cora_runtime::link::region::{self, HashSeed, Identity, Idle, Region, RegionLayout};
use cora_runtime::link::ring::{Consumer, Producer};

use super::pair::stay_on;
use super::queue::words;

/// Makes a region for the ring to the host and the host's bell alone.
fn region() -> Region {
    let layout = RegionLayout::new([4096; 4]).expect("possible sizes");
    let identity =
        Identity { plan: 1, generation: 1, seed: HashSeed(1), resident: false, afresh: false };
    Region::create(words(layout.bytes() / 8), &layout, identity).expect("long enough")
}

/// Returns the share of a core that a waiting consumer takes, in percent, over `time`.
pub(super) fn cpu_share(time: Duration) -> f64 {
    let region = region();
    let mut consumer = Consumer::new(region.rings().punt);
    let (bell, mut idle) = (region.host_bell(SharedFutex), Idle::default());
    let (start, cpu) = (Instant::now(), ThreadTime::now());
    while start.elapsed() < time {
        idle.wait(&bell, thread::yield_now, || consumer.is_empty_indeed()).expect("an honest peer");
    }
    cpu.elapsed().as_secs_f64() / start.elapsed().as_secs_f64() * 100.0
}

/// Returns the times from before a push until a sleeping consumer has the record, `count` times, in
/// µs, sorted.
pub(super) fn first_records(count: u64) -> Vec<f64> {
    /// Long enough that the consumer sleeps.
    const PAUSE: Duration = Duration::from_millis(3);
    let (region, start) = (region(), Instant::now());
    let now = || start.elapsed().as_nanos() as u64;
    let cores = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    let consuming = || {
        stay_on(1, &cores);
        let mut consumer = Consumer::new(region.rings().punt);
        let (bell, mut idle, mut buffer) = (region.host_bell(SharedFutex), Idle::default(), [0; 8]);
        let mut times = Vec::new();
        while times.len() < count as usize {
            if consumer.pop(&mut buffer).expect("an honest peer").is_some() {
                times.push((now() - u64::from_le_bytes(buffer)) as f64 / 1e3);
                consumer.release();
                idle.reset();
            } else {
                idle.wait(&bell, thread::yield_now, || consumer.is_empty_indeed())
                    .expect("an honest peer");
            }
        }
        times
    };
    let mut times = thread::scope(|scope| {
        let consumer = scope.spawn(consuming);
        let (mut producer, bell) =
            (Producer::new(region.rings().punt), region.host_bell(SharedFutex));
        for _ in 0..count {
            thread::sleep(PAUSE);
            producer.push(1, &[&now().to_le_bytes()]).expect("room");
            producer.publish();
            region::wake(&bell);
        }
        consumer.join().expect("the consumer ends well")
    });
    times.sort_by(f64::total_cmp);
    times
}

/// Measures the cost of a look at an awake peer's bell in a publication: ns per record that one
/// thread pushes, publishes and pops, with and without it.
pub(super) fn published(count: u64, rings_bell: bool) -> f64 {
    let region = region();
    let (mut producer, mut consumer) =
        (Producer::new(region.rings().punt), Consumer::new(region.rings().punt));
    let (bell, start, mut buffer) = (region.host_bell(SharedFutex), Instant::now(), [0; 8]);
    for number in 0..count {
        producer.push(1, &[&number.to_le_bytes()]).expect("room");
        producer.publish();
        if rings_bell {
            region::wake(&bell);
        }
        consumer.pop(&mut buffer).expect("an honest peer").expect("a record");
        assert_eq!(u64::from_le_bytes(buffer), number);
        consumer.release();
    }
    start.elapsed().as_nanos() as f64 / count as f64
}
