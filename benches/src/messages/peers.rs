//! The mailboxes of actor crates, each with actors that add numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::{Actor as _, Addr, Context, Handler, Message};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::yield_now;

use super::{ACTORS, AT_ONCE};

/// What all actors got.
type Sum = Arc<AtomicU64>;

/// Adds to a number that one thread uses.
#[inline(always)]
fn add(sum: &AtomicU64, by: u64) {
    sum.store(sum.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

/// A driver of actors with addresses `A`.
pub(super) struct Peer<A> {
    runtime: Box<dyn Block>,
    actors: Vec<A>,
    sum: Sum,
    send: fn(&A, u64),
}

/// Runs a future to its end on this thread.
trait Block {
    fn until(&self, sum: &AtomicU64, end: u64);
}

impl Block for Runtime {
    fn until(&self, sum: &AtomicU64, end: u64) {
        self.block_on(all_came(sum, end));
    }
}

impl Block for actix::SystemRunner {
    fn until(&self, sum: &AtomicU64, end: u64) {
        self.block_on(all_came(sum, end));
    }
}

async fn all_came(sum: &AtomicU64, end: u64) {
    while sum.load(Ordering::Relaxed) < end {
        yield_now().await;
    }
}

impl<A> Peer<A> {
    /// Sends each actor some messages, and lets them run; so often. Returns the number of messages.
    pub(super) fn run(&mut self, times: usize) -> u64 {
        let all = (times * ACTORS * AT_ONCE) as u64;
        for _ in 0..times {
            let before = self.sum.load(Ordering::Relaxed);
            for _ in 0..AT_ONCE {
                for actor in &self.actors {
                    (self.send)(actor, 1);
                }
            }
            self.runtime.until(&self.sum, before + (ACTORS * AT_ONCE) as u64);
        }
        all
    }
}

/// Tasks, each behind a channel.
pub(super) fn tokio() -> Peer<UnboundedSender<u64>> {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let sum = Sum::default();
    let actors = (0..ACTORS).map(|_| {
        let (sender, mut receiver) = unbounded_channel();
        let sum = sum.clone();
        drop(runtime.spawn(async move {
            while let Some(by) = receiver.recv().await {
                add(&sum, by);
            }
        }));
        sender
    });
    let actors = actors.collect();
    let send = |actor: &UnboundedSender<u64>, by| _ = actor.send(by);
    Peer { runtime: Box::new(runtime), actors, sum, send }
}

/// An actor of actix.
pub(super) struct Adds(Sum);

/// What it adds.
struct Add(u64);

impl Message for Add {
    type Result = ();
}

impl actix::Actor for Adds {
    type Context = Context<Self>;
}

impl Handler<Add> for Adds {
    type Result = ();

    fn handle(&mut self, Add(by): Add, _: &mut Context<Self>) {
        add(&self.0, by);
    }
}

pub(super) fn actix() -> Peer<Addr<Adds>> {
    let system = actix::System::new();
    let sum = Sum::default();
    let actors =
        system.block_on(async { (0..ACTORS).map(|_| Adds(sum.clone()).start()).collect() });
    Peer { runtime: Box::new(system), actors, sum, send: |actor, by| actor.do_send(Add(by)) }
}

/// An actor of ractor.
struct Ractor;

impl Actor for Ractor {
    type Msg = u64;
    type State = Sum;
    type Arguments = Sum;

    async fn pre_start(&self, _: ActorRef<u64>, sum: Sum) -> Result<Sum, ActorProcessingErr> {
        Ok(sum)
    }

    async fn handle(
        &self,
        _: ActorRef<u64>,
        by: u64,
        sum: &mut Sum,
    ) -> Result<(), ActorProcessingErr> {
        add(sum, by);
        Ok(())
    }
}

pub(super) fn ractor() -> Peer<ActorRef<u64>> {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let sum = Sum::default();
    let actors = runtime.block_on(async {
        let mut actors = Vec::new();
        for _ in 0..ACTORS {
            let (actor, _) = Actor::spawn(None, Ractor, sum.clone()).await.expect("an actor");
            actors.push(actor);
        }
        actors
    });
    let send = |actor: &ActorRef<u64>, by| _ = actor.cast(by);
    Peer { runtime: Box::new(runtime), actors, sum, send }
}
