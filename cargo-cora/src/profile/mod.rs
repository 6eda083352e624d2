//! `profile`: a capture's flows, as a traffic profile to plan with.

mod bar;
mod duration;
mod flow_stats;
mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cora_host::Inside;
use cora_plan::traffic::{Clock, Drawn, Sample, Tally, Traffic};

use crate::arguments::Profile;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};
use bar::Bar;
use flow_stats::Group;

pub(crate) use duration::Span;
pub(crate) use flow_stats::FlowStats;

pub(crate) fn run(arguments: &Profile) -> Outcome {
    let capture = &arguments.capture;
    let length = capture.metadata().map_or(0, |metadata| metadata.len());
    let out = Out::of(arguments)?;
    let mut bar = Bar::new(length);
    let inside = arguments.inside.clone().unwrap_or_default();
    let stats = FlowStats::of(capture, &inside, arguments.idle.0, |packets, bytes| {
        bar.tell(packets, bytes);
    });
    let stats = stats.map_err(|error| Failure::Failed(error.to_string()))?;
    bar.end(stats.packets);
    let groups = stats.groups();
    let Drawn { traffic, .. } = drawn(&out.name, capture, &stats, arguments.idle)?;
    let written = std::fs::write(&out.path, traffic.to_toml());
    written.map_err(|error| {
        Failure::Failed(format!("`{}` can't be written: {error}", out.path.display()))
    })?;
    tell(summary::text(&traffic, &stats, &groups, arguments.idle))?;
    let path = out.path.display();
    tell_line(format_args!("\nwritten to {path}: plan for it with `--traffic {path}`"))?;
    Ok(ExitCode::SUCCESS)
}

/// The counts of a capture, and its profile under the capture's name.
pub(crate) fn of_capture(
    capture: &Path,
    inside: Option<&str>,
    idle: Span,
) -> Result<(FlowStats, Drawn), Failure> {
    let inside = match inside {
        Some(inside) => inside.parse().map_err(Failure::Usage)?,
        None => Inside::default(),
    };
    let stats = FlowStats::of(capture, &inside, idle.0, |_, _| {})
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let stem = capture.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let drawn = drawn(&stem, capture, &stats, idle)?;
    Ok((stats, drawn))
}

/// A profile of this name from the counts of a capture.
fn drawn(name: &str, capture: &Path, stats: &FlowStats, idle: Span) -> Result<Drawn, Failure> {
    let title = summary::title(&file_name(capture), stats, idle);
    let drawn = Traffic::draw(name, &title, &sample(&stats.groups(), clock(stats, idle)));
    drawn.ok_or_else(|| nothing(capture, stats))
}

/// The place of the profile, and its name.
struct Out {
    name: String,
    path: PathBuf,
}

impl Out {
    /// The given file; otherwise one with the capture's name, unless something else is there.
    fn of(arguments: &Profile) -> Result<Self, Failure> {
        let stem = arguments.capture.file_stem().unwrap_or_default().to_string_lossy();
        let name = arguments.name.clone().unwrap_or_else(|| stem.into_owned());
        let path = arguments.out.clone().unwrap_or_else(|| format!("{name}.toml").into());
        let is_profile = |path: &Path| {
            std::fs::read_to_string(path).is_ok_and(|text| Traffic::parse(&text).is_ok())
        };
        if arguments.out.is_none() && path.exists() && !is_profile(&path) {
            return Err(Failure::Usage(format!(
                "`{}` is there, and no traffic profile: say where to write with `--out FILE`",
                path.display()
            )));
        }
        Ok(Self { name, path })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Times of the capture, if it is longer than the idle time.
fn clock(stats: &FlowStats, idle: Span) -> Option<Clock> {
    let (seconds, idle) = (stats.seconds(), idle.0.as_secs_f64());
    (seconds > idle).then_some(Clock { seconds, idle })
}

fn sample(groups: &BTreeMap<&'static str, BTreeMap<u64, Group>>, clock: Option<Clock>) -> Sample {
    let tally = |group: &Group| Tally {
        keys: group.keys,
        flows: group.at_a_time,
        opens: group.opens,
        bytes: group.bytes,
        rests: group.rests,
    };
    let tallies = |groups: &BTreeMap<u64, Group>| {
        groups.iter().map(|(packets, group)| (*packets, tally(group))).collect()
    };
    let by_key = groups.iter().map(|(key, groups)| ((*key).to_owned(), tallies(groups)));
    Sample { by_key: by_key.collect(), clock }
}

fn nothing(capture: &Path, stats: &FlowStats) -> Failure {
    Failure::Failed(format!(
        "{}: none of its {} packets belongs to a flow: a profile needs IP packets with ports, or ICMP",
        capture.display(),
        stats.packets
    ))
}

#[cfg(test)]
mod tests {
    use cora_core::packet::HEAD;
    use cora_plan::traffic;
    use cora_runtime::exec::LONG;
    use cora_runtime::link::payload::BUFFER_BYTES;

    /// `cora-plan` knows nothing of the runtime, so it has these numbers anew.
    #[test]
    fn plans_take_those_frames_for_long_that_are() {
        let runtime = [LONG, HEAD, HEAD + BUFFER_BYTES].map(|bytes| bytes.to_string());
        let plans = [traffic::LONG, traffic::HEAD, traffic::LONGEST];
        assert_eq!(plans.map(|bytes| bytes.to_string()), runtime);
    }
}
