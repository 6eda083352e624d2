//! The [NAT](super::nat) with a pool of public ports per bucket. The port at the inside end decides
//! the bucket of a packet, so a session's public port is one of its bucket.

use cora_core::bucket::{Bucket, BucketPort};
use cora_core::key::FiveTuple;
use cora_core::state::{Divided, PerBucket, Replicated};
use cora_core::verdict::Reason;

use super::nat::{self, FIRST_PORT, LEASE, NO_PORT_LEFT, Ports, Session, Stats};
use super::wrapped::Wrapped;
use super::{SimApp, Variant, plain, program, stored};
use crate::frames::op;
use crate::traffic::Wishes;

/// Public ports of a bucket: fewer than its sessions now and then.
const PORTS: u16 = 3;

plain! {
    struct BucketPool {
        bucket: u8,
        next: u16,
        given: u32,
        leased_until: [u64; PORTS as usize],
    }
}

impl From<Bucket> for BucketPool {
    fn from(bucket: Bucket) -> Self {
        let leased_until = [0; PORTS as usize];
        Self { bucket: bucket.number() as u8, next: 0, given: 0, leased_until }
    }
}

impl PerBucket for BucketPool {
    const NAME: &'static str = "BucketPool";
}
stored!(BucketPool, PerBucket, Divided);

impl Ports for BucketPool {
    fn lease(&mut self, now: u64) -> Result<u16, Reason> {
        for _ in 0..PORTS {
            let nth = self.next % PORTS;
            self.next = (nth + 1) % PORTS;
            let until = &mut self.leased_until[usize::from(nth)];
            if *until <= now {
                *until = now + LEASE;
                self.given += 1;
                let port = Bucket::new(self.bucket).port(FIRST_PORT, nth);
                return port.map(BucketPort::number).ok_or(NO_PORT_LEFT);
            }
        }
        Err(NO_PORT_LEFT)
    }

    fn at(&mut self, port: u16) -> &mut u64 {
        let nth = Bucket::new(self.bucket).nth_of(FIRST_PORT, port);
        &mut self.leased_until[usize::from(nth.expect("it is leased from here"))]
    }
}

program! {
    struct Pools named "pools" by FiveTuple {
        divided ports: Divided<BucketPool>,
        travels sessions: Wrapped<Session>,
        replica stats: Replicated<Stats>,
    }
    ordered V::ORDERED;
    stateless false;
    buckets by InsidePort;
    fn chain<R>(self, packet) {
        nat::handle::<R, _>(packet, self.sessions.table(), self.ports.value(), self.stats.value())
    }
}

impl<V: Variant> SimApp for Pools<V> {
    const WISHES: Wishes = Wishes {
        flows: 14,
        hosts: 3,
        ops: &[op::CLOSE, op::CLOSE, op::ASK, op::MOVE],
        expires: true,
        crosses: false,
    };

    fn refuse(&mut self, seed: u64) {
        self.sessions.refuse(seed);
    }
}
