//! The host half as a separate process. It moves between the regions that its supervisor creates.

use std::time::Duration;

use clap::Args;
use cora_core::app::App;
use cora_core::state::RegionMemory;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::{Identity, Idle, Region};
use cora_runtime::steering::Deal;

use crate::control::configuration;
use crate::durability::carried::{Opened, open_replicas};
use crate::durability::layout::Layout;
use crate::durability::shared::SharedReplicas;
use crate::ingress::clock::Clock;
use crate::inspect::line::{self, Line};
use crate::memory::map;
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;
use crate::node::beating::Beating;
use crate::node::board::Board;
use crate::node::catch_up::catch_up;
use crate::node::control_loop::{ControlLoop, Controllers, NamedController};
use crate::node::exchange::Exchange;
use crate::node::half::half;
use crate::node::host_page::{self, HostPage};
use crate::node::questions::Desk;
use crate::node::received::Wanted;
use crate::node::regions::Regions;
use crate::node::results::{account, export_rest, tell_all};
use crate::node::worker::Worker;
use crate::observe::account::Account;
use crate::observe::ipfix::Exporter;
use crate::options::{NicMode, RunOptions};
use crate::process::child;
use crate::process::log::{self, Part};
use crate::{Program, RunError, SharedFutex};

/// The argument that turns a program into its own host half.
pub(crate) const HOST_COMMAND: &str = "__host";

/// Orders of the supervisor.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// File descriptor of the regions.
    fd: i32,
    /// Its bytes.
    length: usize,
    /// File descriptor of the replica memory.
    replicas: i32,
    /// Its bytes.
    replicas_length: usize,
    /// File descriptor of the page that the NIC can't reach.
    page: i32,
    /// The process that started this one: it ends with that one.
    parent: u32,
    /// File descriptor of the memory with the copies of the program before, and its bytes.
    #[arg(long, num_args = 2, value_names = ["FD", "BYTES"])]
    before: Vec<u64>,
    /// File descriptor of the board on which several shards exchange merges, and its bytes.
    #[arg(long, num_args = 2, value_names = ["FD", "BYTES"])]
    board: Vec<u64>,
    /// File descriptor of the items that the NIC half may read, their bytes, and the number of this
    /// home of theirs.
    #[arg(long, num_args = 3, value_names = ["FD", "BYTES", "HOME"])]
    items: Vec<u64>,
    /// File descriptor of the rings on which an operator asks.
    #[arg(long)]
    line: Option<i32>,
    /// What flows rest on was lost with the host before: none lives on.
    #[arg(long)]
    afresh: bool,
    /// File descriptor of what the read-mostly states are made from.
    #[arg(long)]
    version: i32,
    /// File descriptor of the account that it writes at its end.
    #[arg(long)]
    account: i32,
    /// The number of its shard.
    #[arg(long)]
    shard: u16,
    /// How many shards there are.
    #[arg(long)]
    shards_in_all: u16,
    /// Packets come straight from the wire: the shard has no NIC half.
    #[arg(long)]
    receives: bool,
    /// When the clock of a live wire began.
    #[arg(long)]
    epoch: Option<u64>,
    /// The time of the latest packet of a capture so far.
    #[arg(long)]
    latest: u64,
    #[command(flatten)]
    options: RunOptions,
}

/// Why the host leaves a region.
enum Left {
    /// The run is over.
    Done,
    /// Another region follows.
    Followed,
    /// Another region follows, because the NIC broke the protocol in this one.
    Distrusted,
}

/// Rounds with work between reports of the tables' fill levels.
const TOLD_EVERY: u64 = 256;

/// Polling interval of a host that waits for another NIC, or for other shards.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// The encoding of the program's durable entries.
fn layout<A: App>() -> Result<Layout, RunError> {
    let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
    Ok(Layout::of(&mut supply.app::<A>(HostHalf::bytes)?))
}

/// The same as JSON, for a program that checks whether this one can replace it.
pub(crate) fn entry_layout<A: App>() -> Result<String, RunError> {
    Ok(serde_json::to_string(&layout::<A>()?).unwrap_or_default())
}

fn system(errno: rustix::io::Errno) -> RunError {
    RunError::System { what: "shared memory", cause: errno.into() }
}

/// The memory for the items of regions, if the NIC half may read them.
fn items(arguments: &[u64]) -> Result<Option<RegionMemory>, RunError> {
    let [file, bytes, home] = arguments[..] else { return Ok(None) };
    // An invalid file number is refused there.
    let file = i32::try_from(file).unwrap_or(-1);
    let words = map::inherited_memory(file, bytes as usize).map_err(system)?;
    Ok(Some(RegionMemory::at_home(words, home as u32)))
}

/// The exporter of records, if there is one, on the clock of a live run.
fn exporter<A: App>(
    arguments: &HostArguments,
    clock: Option<Clock>,
) -> Result<Option<Exporter>, RunError> {
    let Some(name) = &arguments.options.ipfix else { return Ok(None) };
    let exporter = Exporter::open::<A>(name, arguments.shard, true)?;
    Ok(Some(match clock {
        Some(clock) => exporter.by(clock),
        None => exporter,
    }))
}

fn tell_attached(shard: u16, region: &Region) {
    let generation = region.identity().generation;
    let serves = "the host half serves the region of generation";
    log::debug(Part::Host, format_args!("shard {shard}: {serves} {generation}"));
}

/// Handles packets until the run is over, and writes the account of both sides.
pub(crate) fn host_half<A: App>(
    program: &Program,
    arguments: &HostArguments,
    known: &[NamedController<A::Group>],
) -> Result<(), RunError> {
    let HostArguments { page, parent, options, shard, .. } = arguments;
    child::stay_with(*parent)?;
    let page = HostPage::new(map::inherited_memory(*page, host_page::BYTES).map_err(system)?)?;
    let clock = arguments.epoch.map(Clock::since);
    let exporter = exporter::<A>(arguments, clock)?;
    let controllers = Controllers::new(&options.moves, known).map_err(RunError::Controller)?;
    let mut control = ControlLoop::begin::<A>(&controllers, program, (*shard).into())?;
    let words = map::inherited_memory(arguments.fd, arguments.length).map_err(system)?;
    let regions = Regions::<A>::of(words, page, options);
    let mut region = regions.region(page.current())?;
    let version = configuration::told(arguments.version)?;
    let Identity { seed, resident, .. } = region.identity();
    let supply = Supply { seed: seed.0, pages: options.pages, resident };
    let items = items(&arguments.items)?;
    let (mut half, configured) = half::<A>((supply, items), &version, true)?;
    let layout = Layout::of(half.engine().app());
    let copies = open_copies(arguments, half.engine().app(), page, &layout)?;
    let mut copies = Beating { copies, page };
    if arguments.receives {
        // The wire has what the host before left unread.
        half.receive();
    } else {
        catch_up(&mut half, &regions, &region, &mut copies, exporter.as_ref())?;
    }
    let mut worker = Worker::new(half, &region.rings());
    worker.export_to(exporter.clone());
    worker.note_on(page);
    join_shards(&mut worker, arguments, seed.0)?;
    worker.received.arriving.in_force = Some(version.number);
    worker.received.wanted =
        Wanted { all: options.state_out.is_some(), recorded: exporter.is_some() };
    let now = clock.map_or(arguments.latest, Clock::now);
    take_over(&mut worker, copies, &layout, now, arguments.afresh)?;
    let mut desk = arguments.line.map(|file| desk(file, !arguments.receives)).transpose()?;
    loop {
        worker.begin(&configured, options.limits());
        if let Some(control) = &control {
            control.watch(&mut worker);
        }
        tell_attached(*shard, &region);
        // From here on this process ignores the previous region, if there was one.
        let beside = Beside { control: control.as_mut(), desk: desk.as_mut() };
        let mut left = serve(&mut worker, &region, page, options.nic, beside)?;
        if let Left::Followed = left {
            left = read_rest(&mut worker, &region, page)?;
        }
        let sound = match left {
            Left::Done => break,
            Left::Followed => true,
            Left::Distrusted => false,
        };
        let next = regions.region(page.current())?;
        worker.replug(sound.then_some(&region.rings()), &next.rings());
        worker.renew(page.left());
        if let Some(desk) = &desk {
            desk.meet_nic(&mut worker);
        }
        region = next;
    }
    worker.half.tell_counters(page.counters());
    page.end();
    worker.leave_shards();
    give_account(worker, control, exporter, arguments)
}

/// Writes the account of both sides. Write failures become part of it.
fn give_account<A: App>(
    mut worker: Worker<A>,
    mut control: Option<ControlLoop<A::Group>>,
    exporter: Option<Exporter>,
    arguments: &HostArguments,
) -> Result<(), RunError> {
    let drift = control.as_ref().and_then(ControlLoop::drift);
    let mut failures = Vec::new();
    if let Some(Err(error)) = control.as_mut().map(ControlLoop::finish) {
        failures.push(error.to_string());
    }
    let records = exporter.map(|exporter| {
        export_rest(&exporter, &mut worker);
        let records = exporter.finish();
        failures.extend(exporter.failure());
        records
    });
    let account = Account { records, drift, failures, ..account(&mut worker) };
    let failed = |cause| RunError::System { what: "writing the account", cause };
    let wanted = (arguments.account, arguments.options.state_out.is_some());
    tell_all(&account, &mut worker, wanted).map_err(failed)
}

/// Where an operator's questions come in.
fn desk(file: i32, has_nic: bool) -> Result<Desk, RunError> {
    let words = map::inherited_memory(file, line::BYTES).map_err(system)?;
    Ok(Desk::new(&Line::of(words)?, has_nic))
}

/// Takes the buckets of this shard, and exchanges merges with the others, if there is a board for
/// that.
fn join_shards<A: App>(
    worker: &mut Worker<A>,
    arguments: &HostArguments,
    seed: u64,
) -> Result<(), RunError> {
    let HostArguments { board, shard, shards_in_all, options, .. } = arguments;
    let own = Deal::of_plan(&A::PLAN, options.shards).buckets_of((*shard).into());
    worker.half.engine().app().own_buckets(own);
    worker.is_shard((*shard, *shards_in_all), seed);
    if let [file, bytes] = board[..] {
        // An invalid file number is refused there.
        let file = i32::try_from(file).unwrap_or(-1);
        let words = map::inherited_memory(file, bytes as usize).map_err(system)?;
        let board = Board::new(words, *shards_in_all);
        worker.join(Exchange::new(board, *shard, *shards_in_all));
    }
    Ok(())
}

/// The replicas of durable entries, including those of the previous program.
fn open_copies(
    arguments: &HostArguments,
    app: &mut impl App,
    page: HostPage,
    layout: &Layout,
) -> Result<SharedReplicas, RunError> {
    let HostArguments { replicas, replicas_length, before, .. } = arguments;
    let replicas = map::inherited_memory(*replicas, *replicas_length).map_err(system)?;
    let before = match before[..] {
        [file, bytes] => {
            // An invalid file number is refused there.
            let file = i32::try_from(file).unwrap_or(-1);
            Some(map::inherited_memory(file, bytes as usize).map_err(system)?)
        }
        _ => None,
    };
    let Opened { copies, carried, damaged } = open_replicas(replicas, before, layout, app)?;
    page.set_carried(page.carried() + carried);
    if damaged > 0 {
        page.add_damaged(damaged);
        let what = "copies of durable entries are damaged, and are not taken over";
        log::error(Part::Host, format_args!("{damaged} {what}"));
    }
    Ok(copies)
}

/// Continues where the previous host ended. A singleton's replica that decodes to no value counts
/// as damaged: the next host begins without it and without all flows.
fn take_over<A: App>(
    worker: &mut Worker<A>,
    copies: Beating<SharedReplicas>,
    layout: &Layout,
    now: u64,
    afresh: bool,
) -> Result<(), RunError> {
    // The supervisor checks too, before another host begins.
    let mut bad = copies.copies.damaged_singletons();
    worker.half.restore_singletons(&copies, &mut |number| {
        copies.copies.void(number);
        bad.push(number);
    });
    if let Some(number) = bad.first().filter(|_| !afresh) {
        return Err(RunError::Damaged(layout.singleton(*number).to_owned()));
    }
    worker.take_over(Box::new(copies), now, afresh);
    Ok(())
}

/// What a host half does beside packets.
struct Beside<'a, K> {
    control: Option<&'a mut ControlLoop<K>>,
    desk: Option<&'a mut Desk>,
}

/// Handles packets of this region.
fn serve<A: App>(
    worker: &mut Worker<A>,
    region: &Region,
    page: HostPage,
    nic: NicMode,
    Beside { mut control, mut desk }: Beside<'_, A::Group>,
) -> Result<Left, RunError> {
    let mut idle = Idle::sleeping(nic.longest_sleep());
    let generation = region.identity().generation;
    let followed = || page.current() != generation;
    worker.half.offer_flows(!page.nic_stands_in());
    page.attach(generation);
    // Signals to the NIC that there is a host; the supervisor uses the page instead.
    region.host_beats(1);
    loop {
        page.beat();
        let busy = match worker.poll() {
            Ok(busy) => busy,
            Err(error) => return accuse(&error, generation, page).map_err(|()| error),
        };
        if busy {
            worker.half.tell_outcomes(page.counters());
        }
        if !busy || page.heartbeat().is_multiple_of(TOLD_EVERY) {
            worker.half.tell_counters(page.counters());
        }
        if let Some(number) = worker.received.arriving.in_force {
            page.set_version(number.into());
        }
        if let Some(control) = &mut control {
            control.step(worker);
            if let Some(utilisation) = control.utilisation() {
                page.set_utilisation(utilisation);
            }
        }
        let asked = desk.as_mut().is_some_and(|desk| {
            desk.step(worker, busy);
            desk.is_working()
        });
        if worker.received.account.is_some() || page.must_finish() {
            return Ok(Left::Done);
        }
        cora_runtime::link::region::wake(&region.nic_bell(SharedFutex));
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
            let due_in = control.as_ref().map_or(Duration::MAX, |control| control.due_in());
            let due_in =
                if worker.lacks_parts() || asked { due_in.min(LOOK_AGAIN) } else { due_in };
            let bell = region.host_bell(nic.waking());
            let slept = idle.wait_at_most(due_in, &bell, std::thread::yield_now, || {
                Ok::<_, RunError>(worker.has_nothing()? && !followed())
            });
            if let Err(error) = slept {
                return accuse(&error, generation, page).map_err(|()| error);
            }
        }
    }
}

/// Reads the remaining records of a region, which the NIC published before it ended or left.
fn read_rest<A: App>(
    worker: &mut Worker<A>,
    region: &Region,
    page: HostPage,
) -> Result<Left, RunError> {
    loop {
        page.beat();
        match worker.poll() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let generation = region.identity().generation;
                return accuse(&error, generation, page).map_err(|()| error);
            }
        }
    }
    worker.half.tell_outcomes(page.counters());
    Ok(Left::Followed)
}

/// If the error is the NIC's fault: reports that it broke the protocol, reads nothing more from it,
/// and waits for the next region. The supervisor ends the NIC, and the host continues with another
/// one.
fn accuse(error: &RunError, generation: u64, page: HostPage) -> Result<Left, ()> {
    if !error.is_nics_fault() {
        return Err(());
    }
    log::warn(Part::Nic, error);
    page.accuse(generation);
    while page.current() == generation {
        page.beat();
        if page.must_finish() {
            return Ok(Left::Done);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(Left::Distrusted)
}
