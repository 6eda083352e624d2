//! What the performance model says against what is measured: `cargo xtask model`.

pub(crate) mod cases;
mod frames;
mod measure;
mod popularity;

use std::path::Path;

use cases::Case;
use frames::Capture;

const DRAWS: usize = 1 << 20;

pub(crate) fn run(programs: &Path, quick: bool, only: &str) -> std::io::Result<()> {
    let capture_file = programs.join("model.pcap");
    let mut last = None;
    let mut cases = cases::all(quick);
    cases.sort_by_key(|c| (c.flows, format!("{:?}{:?}", c.skew, c.nf.feed)));
    for case in cases {
        let Case { nf, flows, skew, plan } = case;
        let name = format!("{}/{}/{}/{}", nf.name, flows, skew.name(), plan.name());
        if !only.split(',').all(|word| name.contains(word)) {
            continue;
        }
        let key = (nf.feed, flows, skew);
        let warm = flows as usize;
        if last != Some(key) {
            Capture::save(&capture_file, nf.feed, flows, skew, DRAWS)?;
            last = Some(key);
        }
        let m = measure::measure(
            &programs.join(plan.name()).join(nf.name),
            &capture_file,
            warm,
            if quick { 1 } else { 3 },
        )?;
        println!(
            "{name:44} {:7.3} Mpps ±{:4.1}%  nic {:6.1} host {:6.1} ns  at-nic {:.3} punt {:.4} moved {:.5} left {:.3} {:?}",
            m.mpps,
            m.spread * 100.0,
            m.nic_ns,
            m.host_ns,
            m.at_nic,
            m.punted,
            m.moved,
            m.left,
            m.passes
        );
    }
    Ok(())
}
