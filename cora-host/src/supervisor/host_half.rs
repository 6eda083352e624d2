//! The host half as a process of its own, between the regions that its supervisor makes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use cora_core::app::App;
use cora_core::migration::{Copied, Holder, HostHalf, Standby as _};
use cora_core::region::{Identity, Idle, Region, succession};
use serde_json::{Value, json};

use super::catch_up::catch_up;
use super::configuration;
use super::layout::Layout;
use super::standby::{self, SharedStandby};
use crate::account::export_rest;
use crate::command::write_state;
use crate::control_loop::{ControlLoop, Controllers, NamedController};
use crate::ipfix::{Exporter, Records};
use crate::options::RunOptions;
use crate::pages::Pages;
use crate::report::Side;
use crate::run::half;
use crate::supply::Supply;
use crate::worker::Worker;
use crate::{Program, RunError, SharedFutex, map};

/// The argument under which a program is its own host half.
pub(crate) const HOST_COMMAND: &str = "__host";

/// Orders of the supervisor.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// File descriptor of the regions.
    fd: i32,
    /// Its bytes.
    length: usize,
    /// File descriptor of the standby memory.
    standby: i32,
    /// Its bytes.
    standby_length: usize,
    /// File descriptor of the memory with the copies of the program before, and its bytes.
    #[arg(long, num_args = 2, value_names = ["FD", "BYTES"])]
    before: Vec<u64>,
    /// File descriptor of what the read-mostly states are made from.
    #[arg(long)]
    version: i32,
    #[command(flatten)]
    options: RunOptions,
}

/// Why the host leaves a region.
enum Left {
    /// The run is over.
    Done,
    /// Another region follows.
    Followed,
}

/// Words before the copies: the layout of their entries, in words; how many bytes that has stands
/// first, once the copies are whole.
const LAYOUT_WORDS: usize = 1024;

/// How the program's durable entries are encoded.
pub(super) fn layout<A: App>() -> Result<Layout, RunError> {
    let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
    Ok(Layout::of(&mut supply.app::<A>(HostHalf::bytes)?))
}

/// The same as JSON, for a program that asks whether this one can take its place.
pub(crate) fn entry_layout<A: App>() -> Result<String, RunError> {
    Ok(serde_json::to_string(&layout::<A>()?).unwrap_or_default())
}

/// Bytes of standby memory that entries of this layout need at most. What is never used costs
/// address space alone.
pub(super) fn standby_bytes<A: App>(layout: &Layout) -> usize {
    let (entry, group) = layout.longest();
    // No table holds more entries than fit into all tables' memory.
    let copies = A::MEMORY.checked_div(entry).unwrap_or(0);
    (LAYOUT_WORDS * 8 + standby::bytes(copies, entry, group)).next_multiple_of(4096)
}

/// The copies in this memory; those in the memory before are carried over if that was not done yet.
fn open_standby(
    words: &'static [AtomicU64],
    before: Option<&'static [AtomicU64]>,
    layout: &Layout,
    app: &mut impl App,
) -> Result<(SharedStandby, u64), RunError> {
    let (head, slots) = words.split_at(LAYOUT_WORDS.min(words.len()));
    let (entry, group) = layout.longest();
    let mut copies = SharedStandby::open(slots, entry, group);
    if read_layout(head).is_some() {
        return Ok((copies, 0));
    }
    let mut carried = 0;
    if let Some(before) = before {
        let (old_head, old_slots) = before.split_at(LAYOUT_WORDS.min(before.len()));
        let old = read_layout(old_head).unwrap_or_default();
        let conversion = layout.conversion(&old).map_err(RunError::OtherEntries)?;
        let (entry, group) = old.longest();
        let old = SharedStandby::open(old_slots, entry, group);
        for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
            old.each(holder, None, &mut |copy| {
                if let Some((state, piece)) =
                    conversion.entry(copy.state, copy.piece, |state, value, to| {
                        app.described(usize::from(state)).convert(value, to)
                    })
                {
                    carried += u64::from(copies.keep(&Copied { state, piece: &piece, ..*copy }));
                }
            });
        }
    }
    write_layout(head, layout);
    Ok((copies, carried))
}

fn read_layout(head: &[AtomicU64]) -> Option<Layout> {
    let (length, words) = head.split_first()?;
    let length = length.load(Ordering::Acquire) as usize;
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    serde_json::from_slice(bytes.get(..length).filter(|text| !text.is_empty())?).ok()
}

fn write_layout(head: &[AtomicU64], layout: &Layout) {
    let text = serde_json::to_vec(layout).unwrap_or_default();
    let Some((length, words)) = head.split_first() else { return };
    for (word, bytes) in words.iter().zip(text.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
    }
    length.store(text.len() as u64, Ordering::Release);
}

fn system(errno: rustix::io::Errno) -> RunError {
    RunError::System { what: "shared memory", cause: errno.into() }
}

/// Handles packets until the run is over; gives the account of both sides.
pub(crate) fn host_half<A: App>(
    program: &Program,
    arguments: HostArguments,
    known: &[NamedController<A::Group>],
) -> Result<Value, RunError> {
    let HostArguments { fd, length, standby, standby_length, before, version, options } = arguments;
    let RunOptions { pages, moves, state_out, ipfix, .. } = options;
    let exporter = ipfix.map(|name| Exporter::open::<A>(&name, true)).transpose()?;
    let controllers = Controllers::new(&moves, known).map_err(RunError::Controller)?;
    let mut control = ControlLoop::begin::<A>(&controllers, program, 0)?;
    let regions = map::inherited_memory(fd, length).map_err(system)?;
    let mut region = attach::<A>(regions, 0)?;
    let version = configuration::told(version)?;
    let Identity { seed, resident, .. } = region.identity();
    let supply = Supply { seed: seed.0, pages, resident };
    let (mut half, configured) = half::<A>(supply, &version, true)?;
    let layout = Layout::of(half.engine().app());
    let standby = map::inherited_memory(standby, standby_length).map_err(system)?;
    let before = match before[..] {
        [file, bytes] => {
            // A number that is none of a file's is refused there.
            let file = i32::try_from(file).unwrap_or(-1);
            Some(map::inherited_memory(file, bytes as usize).map_err(system)?)
        }
        _ => None,
    };
    let (mut copies, carried) = open_standby(standby, before, &layout, half.engine().app())?;
    region.set_carried(carried);
    let lost = catch_up(&mut half, regions, &region, &mut copies, exporter.as_ref())?;
    let mut worker = Worker::new(half, &region.rings());
    worker.export_to(exporter.clone());
    worker.arriving.in_force = Some(version.number);
    worker.take_over(Box::new(copies), wire_time());
    loop {
        worker.begin(&configured);
        if let Some(control) = &control {
            control.watch(&mut worker);
        }
        // From here on the region before, if there was one, is nothing to this process.
        match serve(&mut worker, &region, regions, control.as_mut())? {
            Left::Done => break,
            Left::Followed => {
                // What the NIC published before it ended is the last that comes by this region.
                while worker.poll()? {}
                let next = attach::<A>(regions, region.identity().generation)?;
                worker.replug(&region.rings(), &next.rings())?;
                region = next;
            }
        }
    }
    if let Some(control) = &mut control {
        control.finish()?;
    }
    if let Some(path) = &state_out {
        write_state(path, &final_state(&mut worker))?;
    }
    let records = exporter.map(|exporter| {
        let (now, left) = (worker.now(), std::mem::take(&mut worker.left));
        export_rest(&exporter, &mut worker.half, &left, now);
        exporter.finish()
    });
    Ok(account(worker, lost, records.transpose()?))
}

fn attach<A: App>(regions: &'static [AtomicU64], seen: u64) -> Result<Region, RunError> {
    let place = succession::place(regions, succession::current(regions));
    Region::attach_newer(place, A::PLAN.hash, seen).map_err(RunError::Region)
}

fn serve<A: App>(
    worker: &mut Worker<A>,
    region: &Region,
    regions: &'static [AtomicU64],
    mut control: Option<&mut ControlLoop<A::Group>>,
) -> Result<Left, RunError> {
    let mut idle = Idle::default();
    let generation = region.identity().generation;
    let followed = || succession::is_followed(regions, generation);
    let mut beat = 0;
    loop {
        beat += 1;
        region.host_beats(beat);
        let busy = worker.poll()?;
        if let Some(number) = worker.arriving.in_force {
            region.set_version(number.into());
        }
        if let Some(control) = &mut control {
            control.step(worker);
        }
        if worker.account.is_some() {
            return Ok(Left::Done);
        }
        cora_core::region::wake(&region.nic_bell(SharedFutex));
        if !busy {
            worker.tick();
        }
        if busy {
            idle.reset();
        } else if followed() {
            return Ok(Left::Followed);
        } else if worker.waits_for_room() {
            idle.pause(std::thread::yield_now);
        } else {
            idle.wait(&region.host_bell(SharedFutex), std::thread::yield_now, || {
                Ok::<_, RunError>(worker.has_nothing()? && !followed())
            })?;
        }
    }
}

/// The time of the wire, where frames come in as somebody sends them.
fn wire_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// What all tables hold at the end, the NIC's entries among them.
fn final_state<A: App>(worker: &mut Worker<A>) -> Value {
    let now = worker.now();
    let mut contents = std::mem::take(&mut worker.contents);
    let app = worker.half.engine().app();
    contents.add_own(app, now);
    contents.into_json(app)
}

/// What both sides tell; so many packets were lost with the host before this one.
fn account<A: App>(worker: Worker<A>, lost: u64, records: Option<Records>) -> Value {
    let Worker { mut half, account, .. } = worker;
    let nic = account.unwrap_or_default();
    let mut outcomes = nic.outcomes;
    half.engine()
        .outcomes
        .each(&mut |name, count| *outcomes.entry(name.into()).or_default() += count);
    if lost > 0 {
        outcomes.insert("lost-with-host".into(), lost);
    }
    let mut host = Side::from(half.report);
    host.flows = half.flows().into();
    let mut account = json!({ "outcomes": outcomes, "nic": Side::from(nic.report), "host": host });
    if let Some(records) = records {
        account["records"] = json!(records);
    }
    account
}
