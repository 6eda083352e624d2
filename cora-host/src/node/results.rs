//! The results of a host half at its end: the account of both sides, and their final state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;

use crate::memory::map;
use crate::node::direct;
use crate::node::worker::Worker;
use crate::observe::account::{Account, write_piece};
use crate::observe::ipfix::Exporter;
use crate::observe::report::{Filled, Recovery, Side, Sides};

/// Exports records of the last ended entries, and of all entries left here and at the NIC.
pub(super) fn export_rest<A: App>(exporter: &Exporter, worker: &mut Worker<A>) {
    let now = worker.now();
    let Worker { half, received, .. } = worker;
    direct::export_rest(exporter, half, now);
    for (state, piece) in received.left.iter().filter(|(state, _)| is_recorded::<A>(*state)) {
        exporter.left(*state, piece, now);
    }
}

fn is_recorded<A: App>(state: u16) -> bool {
    A::RECORDED.contains(&state.into())
}

/// The results of both sides: the host's outcomes, and the NIC's if it ended regularly.
pub(super) fn account<A: App>(worker: &mut Worker<A>) -> Account {
    let now = worker.now();
    worker.half.report.ring_records = worker.ring_records();
    let Worker { half, received, .. } = worker;
    let nic = received.account.take();
    let (nic_report, nic_outcomes) = nic.map(|nic| (nic.report, nic.outcomes)).unzip();
    let at_nic = &received.entries;
    let mut account = account_of(half, now, |state| at_nic.get(&state).copied());
    account.sides.nic = nic_report.map(Side::from).unwrap_or_default();
    account.nic_outcomes = nic_outcomes;
    account
}

/// The results of a host half, with the entries that another side holds of a state.
pub(crate) fn account_of<A: App>(
    half: &mut HostHalf<A>,
    now: u64,
    elsewhere: impl Fn(u16) -> Option<u64>,
) -> Account {
    half.end_messages();
    let mut outcomes = BTreeMap::new();
    half.engine().outcomes.each(&mut |name, count| {
        outcomes.insert(name.to_owned(), count);
    });
    let kept = half.reclaimed();
    let recovery = Recovery {
        flows: kept.flows,
        entries: kept.entries,
        refused: kept.refused,
        cancelled: kept.cancelled,
        half_received: kept.half_received,
        missing: kept.missing,
        uncopied: half.uncopied(),
        dropped: kept.dropped,
    };
    let sides = Sides { host: Side::from(half.counts()), ..Sides::default() };
    let tables = tables(half.engine().app(), now, elsewhere);
    let took = half.engine().took().to_vec();
    Account { outcomes, took, sides, tables, recovery, now, ..Account::default() }
}

/// The fill level of each table, with the entries that another side holds of a state.
fn tables<A: App>(
    app: &mut A,
    now: u64,
    elsewhere: impl Fn(u16) -> Option<u64>,
) -> BTreeMap<String, Filled> {
    let mut tables = BTreeMap::new();
    for (number, (name, _)) in A::PLACES.iter().enumerate() {
        let state = app.state(number);
        let entries = state.entries(now) + elsewhere(number as u16).unwrap_or(0);
        if let Some(table) = state.as_travelling() {
            let filled = Filled { entries, capacity: table.capacity().into() };
            tables.insert((*name).to_owned(), filled);
        }
    }
    tables
}

/// Writes the account to the file with this number, and if it is requested the final state of both
/// sides.
pub(super) fn tell_all<A: App>(
    account: &Account,
    worker: &mut Worker<A>,
    (file, with_state): (i32, bool),
) -> std::io::Result<()> {
    let mut file = BufWriter::new(map::left_file(file).map(File::from)?);
    account.write(&mut file)?;
    if with_state {
        for (state, piece) in &worker.received.left {
            write_piece(&mut file, *state, piece)?;
        }
        let mut written = Ok(());
        each_piece(worker.half.engine().app(), account.now, &mut |state, piece| {
            if written.is_ok() {
                written = write_piece(&mut file, state, piece);
            }
        });
        written?;
    }
    file.flush()
}

/// Visits the states of a half in pieces, each with the number of its state.
pub(crate) fn each_piece<A: App>(app: &mut A, now: u64, visit: &mut dyn FnMut(u16, &[u8])) {
    for number in 0..A::STATES {
        app.state(number).export(now, &mut |piece| visit(number as u16, piece));
    }
}
