//! The host's side: the loop of a run, and the moves that it is asked for.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::Worker;
use cora_runtime::ownership::{Admission, Order};

use super::flows::FlowsOf;
use crate::in_memory::Told;
use crate::traffic::Traffic;

/// Most recalls without an answer.
const RECALLS: u64 = 256;
/// Recalls sent in a row.
const AT_ONCE: usize = 32;
/// A move that did not end by then never will: its flow was not there.
const LOST: Duration = Duration::from_millis(100);

/// A task of the host; flows by their numbers.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Offer them all, as fast as possible.
    Offer(Range<usize>),
    /// Recall them all.
    Recall(Range<usize>),
    /// Move one after the other to the other side, at this interval, until the next task. The first
    /// half of them starts at the NIC.
    Churn(Duration),
    /// Move nothing more; done when all moves under way have ended.
    Rest,
}

/// A task is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    /// Number of flows that moved.
    pub(super) moved: u64,
    /// Time from the first order to the last flow's end here.
    pub(super) took: Duration,
}

/// Runs the host's loop until the other side ends.
pub(super) fn serve<A: App>(
    mut worker: Worker<A>,
    traffic: &Traffic,
    told: &Told,
    (tasks, done): (Receiver<Task>, Sender<Done>),
) -> Result<(), RunError> {
    // Flows move only when asked for.
    worker.follow(&[Order::Admit(Admission::NONE)]);
    let flows = FlowsOf::<A::Group>::new(traffic)?;
    let mut mover = Mover::new(&flows.groups);
    while !told.is_over() {
        if worker.poll()? {
            told.tell(&worker);
        } else {
            spin_loop();
        }
        if let Ok(task) = tasks.try_recv() {
            mover.begin(task, &worker);
        }
        if let Some(all) = mover.step(&mut worker) {
            // The other side does not wait for it if the run is over.
            let _over = done.send(all);
        }
    }
    Ok(())
}

/// Progress of the task.
struct Mover<'a, K> {
    groups: &'a [K],
    task: Option<Task>,
    /// The next flow's number.
    next: usize,
    begun: Instant,
    /// Moves before the task.
    before: u64,
    /// Moves at the last look, and the time of their last change.
    seen: (u64, Instant),
    /// For churn: flows at the NIC, as far as orders were given.
    at_nic: Vec<bool>,
    /// For churn: moves ordered.
    ordered: u32,
}

impl<'a, K: cora_core::key::Key> Mover<'a, K> {
    fn new(groups: &'a [K]) -> Self {
        let now = Instant::now();
        let at_nic = (0..groups.len()).map(|number| number < groups.len() / 2).collect();
        let seen = (0, now);
        Self { groups, task: None, next: 0, begun: now, before: 0, seen, at_nic, ordered: 0 }
    }

    fn begin<A: App<Group = K>>(&mut self, task: Task, worker: &Worker<A>) {
        let (Task::Offer(Range { start, .. }) | Task::Recall(Range { start, .. })) = task else {
            (self.begun, self.ordered) = (Instant::now(), 0);
            self.task = Some(task);
            return;
        };
        self.next = start;
        self.begun = Instant::now();
        self.before = moved(&task, worker);
        self.seen = (self.before, self.begun);
        self.task = Some(task);
    }

    /// Continues the task. Returns its result when it is done.
    fn step<A: App<Group = K>>(&mut self, worker: &mut Worker<A>) -> Option<Done> {
        let task = self.task.clone()?;
        let ended = match &task {
            Task::Offer(range) => {
                let most = worker.half.offers_left();
                self.order(range, most, Order::Offer, worker);
                self.next == range.end && worker.half.is_drained()
            }
            Task::Recall(range) => {
                let answered = moved(&task, worker) - self.before;
                let open = (self.next - range.start) as u64 - answered;
                let most = if open < RECALLS { AT_ONCE } else { 0 };
                self.order(range, most, Order::Recall, worker);
                answered == range.len() as u64 && worker.half.is_drained()
            }
            Task::Churn(every) => {
                self.churn(*every, worker);
                false
            }
            Task::Rest => worker.half.is_drained(),
        };
        let now = moved(&task, worker);
        if now != self.seen.0 {
            self.seen = (now, Instant::now());
        }
        let (Task::Offer(range) | Task::Recall(range)) = &task else {
            return ended.then(|| self.end(0, self.begun));
        };
        if ended {
            return Some(self.end(now - self.before, Instant::now()));
        }
        let lost = self.next == range.end && self.seen.1.elapsed() > LOST;
        lost.then(|| self.end(now - self.before, self.seen.1))
    }

    fn end(&mut self, moved: u64, at: Instant) -> Done {
        self.task = None;
        Done { moved, took: at.duration_since(self.begun) }
    }

    /// Orders the moves of the next flows.
    fn order<A: App<Group = K>>(
        &mut self,
        range: &Range<usize>,
        most: usize,
        order: impl Fn(K) -> Order<K>,
        worker: &mut Worker<A>,
    ) {
        let to = range.end.min(self.next + most);
        if to > self.next {
            let orders: Vec<_> = self.groups[self.next..to].iter().copied().map(order).collect();
            worker.follow(&orders);
            self.next = to;
        }
    }

    /// Orders the moves that are due.
    fn churn<A: App<Group = K>>(&mut self, every: Duration, worker: &mut Worker<A>) {
        while self.begun.elapsed() > every * self.ordered && worker.half.offers_left() > 0 {
            // Neighbours go to different sides.
            let half = self.groups.len() / 2;
            let flow = self.ordered as usize % self.groups.len();
            let flow = flow / 2 + (flow % 2) * half;
            let Some(group) = self.groups.get(flow).copied() else { return };
            let at_nic = &mut self.at_nic[flow];
            let order = if *at_nic { Order::Recall(group) } else { Order::Offer(group) };
            *at_nic = !*at_nic;
            worker.follow(&[order]);
            self.ordered += 1;
        }
    }
}

/// Returns the flows that the task moved, and others before.
fn moved<A: App>(task: &Task, worker: &Worker<A>) -> u64 {
    let report = &worker.half.report;
    match task {
        Task::Offer(_) => report.offloads,
        Task::Recall(_) => report.released,
        Task::Churn(_) | Task::Rest => report.offloads + report.released,
    }
}
