//! Combines the results of all pairs.

use std::collections::BTreeMap;
use std::time::Duration;

use cora_control::Drift;
use cora_core::app::App;
use cora_core::packet::Port;
use cora_core::state::Kind;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use serde_json::Value;

use crate::RunError;
use crate::ingress::capture_notes::CaptureNotes;
use crate::ingress::tally::Losses;
use crate::node::capture_run::Request;
use crate::node::direct::Direct;
use crate::node::received::NicAccount;
use crate::observe::ipfix::Exporter;
use crate::observe::report::{Recovery, RunReport, Side, Sides};
use crate::observe::state::Contents;
use crate::options::NicMode;

/// The results of a run: the report, and the final state.
pub(crate) type Finished = (RunReport, Value);

/// The results of one pair.
pub(crate) struct Ended<A: App> {
    pub(crate) half: HostHalf<A>,
    pub(crate) nic: NicAccount,
    /// Entries that stayed at the NIC.
    pub(crate) contents: Contents,
    /// Encoded entries of recorded states that stayed at the NIC, each with the number of its
    /// state.
    pub(crate) left: Vec<(u16, Vec<u8>)>,
    /// The end of the run's time.
    pub(crate) now: u64,
    /// Recovery of killed NICs.
    pub(crate) recovered: (Recovery, Losses),
    /// Cost drift, if a controller measured it.
    pub(crate) drift: Option<Drift>,
}

/// Counters of the wire.
#[derive(Clone, Debug)]
pub(crate) struct WireCounts {
    pub(crate) came: u64,
    pub(crate) too_long: u64,
    /// Frames truncated by the capture, which this program can't handle.
    pub(crate) cut: u64,
    pub(crate) left: u64,
    pub(crate) notes: CaptureNotes,
}

/// Combines the results of the first pair and all others.
pub(crate) fn finish<A: App>(
    first: Ended<A>,
    others: Vec<Ended<A>>,
    wire: WireCounts,
    request: &Request<A::Group>,
    elapsed: Duration,
) -> Result<Finished, RunError> {
    let mode = request.options.nic;
    let mut outcomes = BTreeMap::new();
    if wire.too_long > 0 {
        outcomes.insert("too-long".into(), wire.too_long);
    }
    if wire.cut > 0 {
        outcomes.insert("cut-when-captured".into(), wire.cut);
    }
    // One common end time decides which entries had expired, for all pairs.
    let end = others.iter().map(|other| other.now).fold(first.now, u64::max);
    let Ended { mut half, nic, mut contents, left, now, recovered, drift } = first;
    let mut drifts: Vec<Drift> = drift.into_iter().collect();
    if let Some(exporter) = &request.exporter {
        export_rest(exporter, &mut half, &left, end);
    }
    let (mut recovery, first_losses) = recovered;
    let mut losses = vec![first_losses];
    let mut pairs = vec![tell(&mut half, nic, mode, now, &mut outcomes)];
    for Ended { half: mut other, nic, contents: held, left, now, recovered, drift } in others {
        drifts.extend(drift);
        if let Some(exporter) = &request.exporter {
            export_rest(exporter, &mut other, &left, end);
        }
        recovery += recovered.0;
        losses.push(recovered.1);
        pairs.push(tell(&mut other, nic, mode, now, &mut outcomes));
        contents.join(held);
        contents.add_shard(half.engine().app(), other.engine().app(), now)?;
    }
    for losses in &losses {
        losses.mend(&mut outcomes);
    }
    let app = half.engine().app();
    contents.add_own(app, now);
    let entries = contents.entries(app);
    let tables = contents.tables(app, pairs.len());
    let mut sides = Sides::default();
    for pair in &pairs {
        sides.nic += pair.nic;
        sides.host += pair.host;
    }
    let report = RunReport {
        schema: "cora-run/1",
        program: A::NAME,
        plan: format!("{:016x}", A::PLAN.hash),
        plan_name: A::PLAN.name,
        nic: match mode {
            NicMode::Off => "off",
            NicMode::Emulated => "emulated",
            NicMode::Native => "native",
        },
        pages: request.options.pages.in_force().word(),
        nic_pages: (mode == NicMode::Native).then(|| request.options.pages.of_nic().word()),
        packets_in: wire.came,
        packets_out: wire.left,
        outcomes,
        migrations: sides.nic.offloads + sides.nic.released,
        sides,
        pairs: if pairs.len() > 1 { pairs } else { Vec::new() },
        entries,
        capture: wire.notes,
        tables,
        recovery,
        records: request.exporter.as_ref().map(Exporter::finish),
        failures: request.exporter.as_ref().and_then(Exporter::failure).into_iter().collect(),
        drift: drifts,
        elapsed_ns: elapsed.as_nanos() as u64,
    };
    Ok((report, contents.into_json(app)))
}

/// Exports records of the last ended entries at a host, and of all entries left there and at its
/// NIC.
pub(crate) fn export_rest<A: App>(
    exporter: &Exporter,
    half: &mut HostHalf<A>,
    left: &[(u16, Vec<u8>)],
    now: u64,
) {
    half.tell_changes(
        &mut Direct::new(|_: &Stamp, _: Port, _: &[u8]| {}).exporting(Some(exporter)),
    );
    for (state, piece) in left {
        exporter.left(*state, piece, now);
    }
    for number in A::RECORDED {
        let state = half.engine().app().state(*number);
        state.export(now, &mut |piece| exporter.left(*number as u16, piece, now));
    }
}

/// The counters of one pair; adds its outcomes.
fn tell<A: App>(
    half: &mut HostHalf<A>,
    nic: NicAccount,
    mode: NicMode,
    now: u64,
    outcomes: &mut BTreeMap<String, u64>,
) -> Sides {
    for (name, count) in nic.outcomes {
        *outcomes.entry(name).or_default() += count;
    }
    half.engine()
        .outcomes
        .each(&mut |name, count| *outcomes.entry(name.into()).or_default() += count);
    let mut host = Side::from(half.counts());
    host.flows = match mode {
        NicMode::Off => fullest(half.engine().app(), now),
        NicMode::Emulated | NicMode::Native => u64::from(half.flows()),
    };
    Sides { nic: Side::from(nic.report), host }
}

/// Number of entries in the fullest table.
fn fullest<A: App>(app: &mut A, now: u64) -> u64 {
    let mut most = 0;
    for number in 0..A::STATES {
        let state = app.state(number);
        if state.kind() == Kind::Keyed {
            most = most.max(state.entries(now));
        }
    }
    most
}
