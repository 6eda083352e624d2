//! iperf3: the throughput. Told, not compared.

use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::function::Function;
use crate::program::{Service, run_well};
use crate::site::Site;
use crate::verdict::Observed;

/// Runs iperf3 for so many seconds by TCP, and by UDP.
///
/// # Errors
/// When it isn't there, or doesn't come to its end.
pub(crate) fn run(site: &Site, seconds: u64) -> Result<Vec<Observed>> {
    let Some(server) = site.function.servers().into_iter().next() else { return Ok(Vec::new()) };
    let iperf = |words: &str| -> Result<Value> {
        let mut serving = site.servers.command("iperf3");
        let _server = Service::start(serving.args(["-s", "-1"]))?;
        // The server prints nothing before a client connects.
        std::thread::sleep(Duration::from_millis(200));
        let mut asking = site.clients.command("iperf3");
        asking.args(["-J", "-t", &seconds.to_string(), "-c", &server.to_string()]);
        asking.args(words.split_whitespace());
        let text = run_well(&mut asking, Duration::from_secs(seconds + 20))?;
        serde_json::from_str(&text).map_err(|error| format!("iperf3: {error}"))
    };
    let megabits = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e6;
    let tcp = iperf("")?;
    let up = megabits(&tcp["end"]["sum_received"]["bits_per_second"]);
    let again = tcp["end"]["sum_sent"]["retransmits"].as_u64().unwrap_or(0);
    let result = format!("{up:.0} ({again} segments sent again)");
    let mut seen = vec![Observed::told("iperf3 TCP to the servers, Mbit/s", result)];
    if seconds > 1 {
        let down = iperf("-R")?;
        let down = megabits(&down["end"]["sum_received"]["bits_per_second"]);
        seen.push(Observed::told("iperf3 TCP to the clients, Mbit/s", format!("{down:.0}")));
    }
    // Its server answers datagrams from its host's first address, which a balancer's clients don't
    // know.
    if site.function != Function::Balancer {
        // Small datagrams count packets rather than bytes.
        let udp = iperf("-u -l 64 -b 0")?;
        let sum = &udp["end"]["sum"];
        let sent = sum["packets"].as_f64().unwrap_or(0.0);
        let lost = sum["lost_percent"].as_f64().unwrap_or(0.0);
        let passed = sent * (1.0 - lost / 100.0) / sum["seconds"].as_f64().unwrap_or(1.0) / 1e3;
        let result = format!("{passed:.0} thousand packets/s passed, {lost:.0} % lost");
        seen.push(Observed::told("iperf3 UDP of 64 bytes", result));
    }
    Ok(seen)
}
