//! The counts of tenants, for an operator.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::attach::letter::{self, Ask, Came};
use crate::attach::stub::reach;

/// How long an agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks an agent for its counts.
///
/// # Errors
/// A sentence.
pub fn ask(socket: &Path) -> Result<AgentReport, String> {
    let shown = socket.display();
    let agent = reach(socket)
        .map_err(|errno| format!("{shown}: {errno}; is it the socket of `cargo cora agent`?"))?;
    letter::send(&agent, &Ask::Tenants, &[]).map_err(|errno| format!("{shown}: {errno}"))?;
    let begun = Instant::now();
    loop {
        match letter::receive(&agent) {
            Came::Packet(report, _) => return Ok(report),
            Came::NotYet if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Came::NotYet => return Err(format!("{shown}: the agent does not answer")),
            Came::Closed => return Err(format!("{shown}: the agent ended before it answered")),
            Came::Nonsense => {
                return Err(format!("{shown}: the agent is of another version of Cora"));
            }
        }
    }
}

/// An agent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    /// The version of this form.
    pub schema: String,
    /// Frames that came at the ports, and left there.
    pub came: u64,
    /// Frames that left at the ports.
    pub left: u64,
    /// Frames that passed by, for nobody here.
    pub passed: u64,
    /// Tenants that were refused, and those that were ended by the agent.
    pub refused: u64,
    /// Tenants that the agent ended.
    pub ended: u64,
    /// The tenants that there are, in the order of their attachment.
    pub tenants: Vec<TenantReport>,
}

/// A tenant so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantReport {
    /// The name of its program.
    pub program: String,
    /// Where it is asked.
    pub at: Vec<String>,
    /// The user that attached it.
    pub user: u32,
    /// `starts`, `works` or `ends`.
    pub stage: String,
    /// Packets that came for it.
    pub came: u64,
    /// Packets that it let out.
    pub left: u64,
    /// Packets dropped since its queue was full.
    pub queue_full: u64,
    /// Frames of its that were refused: they were not from its addresses.
    pub not_its_own: u64,
    /// Turns that it had.
    pub turns: u64,
    /// Time that it took of a processor (ns).
    pub busy_ns: u64,
}

impl fmt::Display for AgentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} frames came, {} left; {} were for no tenant and passed by",
            self.came, self.left, self.passed
        )?;
        writeln!(f, "tenants refused: {}; ended by the agent: {}", self.refused, self.ended)?;
        if self.tenants.is_empty() {
            return write!(f, "no tenant");
        }
        let spent: u64 = self.tenants.iter().map(|tenant| tenant.busy_ns).sum();
        write!(
            f,
            "{:<12} {:>11} {:>11} {:>9} {:>8} {:>9} {:>6}  at",
            "tenant", "came", "left", "dropped", "refused", "turns", "time"
        )?;
        for tenant in &self.tenants {
            let thousandths = u128::from(tenant.busy_ns) * 1_000 / u128::from(spent.max(1));
            let part = format!("{}.{}%", thousandths / 10, thousandths % 10);
            write!(
                f,
                "\n{:<12} {:>11} {:>11} {:>9} {:>8} {:>9} {part:>6}  {}",
                tenant.program,
                tenant.came,
                tenant.left,
                tenant.queue_full,
                tenant.not_its_own,
                tenant.turns,
                tenant.at.join(", ")
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn report() -> AgentReport {
        AgentReport {
            schema: "cora-agent/1".to_owned(),
            came: 1_200,
            left: 1_190,
            passed: 200,
            refused: 1,
            ended: 2,
            tenants: vec![TenantReport {
                program: "cache".to_owned(),
                at: vec!["udp:192.0.2.7:11211".to_owned()],
                user: 1_000,
                stage: "works".to_owned(),
                came: 1_000,
                left: 990,
                queue_full: 7,
                not_its_own: 3,
                turns: 400,
                busy_ns: 5_000_000,
            }],
        }
    }

    /// docs/json.md has its fields.
    #[test]
    fn the_json_is_as_the_page_says() {
        golden::json("agent", &report());
    }

    #[test]
    fn the_table_names_each_tenant_and_its_part_of_the_time() {
        let table = report().to_string();
        assert!(table.contains("1200 frames came") && table.contains("100.0%"), "{table}");
        assert!(table.ends_with("udp:192.0.2.7:11211"), "{table}");
        let nobody = AgentReport::default().to_string();
        assert!(nobody.ends_with("no tenant"), "{nobody}");
    }
}
