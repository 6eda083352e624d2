//! Requirements of a live run's ports: rights, devices, sockets; and which interfaces there are.

use cora_port::{Link, PortError, probe};

use super::{Finding, State};

/// Capabilities by their bits: `include/uapi/linux/capability.h`.
const RIGHTS: [(&str, u32); 3] = [("cap_net_admin", 12), ("cap_net_raw", 13), ("cap_bpf", 39)];
/// `CAP_SYS_ADMIN`, which stands for the last one.
const ADMINISTRATOR: u32 = 21;

pub(super) fn look() -> Vec<Finding> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tried = [
        ("tap: ports", probe::tap(), "modprobe tun, and run as root"),
        ("packet: ports", probe::packet(), "run as root, or setcap cap_net_raw+ep PROGRAM"),
        (
            "xdp: ports",
            probe::xdp(),
            "run as root; where it is refused even so, use packet: ports (the kernel needs CONFIG_XDP_SOCKETS)",
        ),
    ];
    let tried = tried.map(|(what, tried, advice)| match tried {
        Ok(()) => Finding::fine(what, "can be opened"),
        Err(why) => Finding::lacks(what, why, State::Missing, advice),
    });
    let mut findings = vec![rights(&status)];
    findings.extend(tried);
    findings.extend(interfaces());
    findings
}

fn rights(status: &str) -> Finding {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    let has = |bit: u32| held >> bit & 1 == 1;
    let lacks = RIGHTS
        .iter()
        .filter(|(name, bit)| !(has(*bit) || (*name == "cap_bpf" && has(ADMINISTRATOR))));
    let lacks: Vec<&str> = lacks.map(|(name, _)| *name).collect();
    if lacks.is_empty() {
        return Finding::fine("rights", "cap_net_admin, cap_net_raw, cap_bpf");
    }
    let advice = format!("run live runs as root, or setcap {}+ep PROGRAM", lacks.join(","));
    Finding::lacks("rights", format!("no {}", lacks.join(", ")), State::Missing, advice)
}

/// Those that carry Ethernet.
fn interfaces() -> Vec<Finding> {
    let names = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.iter().filter_map(|name| interface(name)).collect()
}

fn interface(name: &str) -> Option<Finding> {
    let what = format!("interface {name}");
    match probe::interface(name) {
        Ok(facts) => {
            let link = if facts.link == Link::Up { "up" } else { "down" };
            let (driver, queues, mtu) = (facts.driver, facts.queues, facts.mtu);
            let found = format!("driver {driver}, {queues} queues, MTU {mtu}, link {link}");
            let mut finding = Finding::fine(what, found);
            if driver == "veth" {
                let advice = "its senders leave checksums and segments to a card that there is not: at the other \
                              end, ethtool -K PEER tx off tso off gso off";
                finding.advice = Some(advice.into());
            }
            Some(finding)
        }
        // Of another namespace, or no Ethernet.
        Err(PortError::NoInterface { .. } | PortError::NotEthernet { .. }) => None,
        Err(error) => {
            let advice = "see `ip -details link show`";
            Some(Finding::lacks(what, error.to_string(), State::Missing, advice))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_from_bits() {
        assert_eq!(rights("CapEff:\t000001ffffffffff\n").state, State::Fine);
        let old = rights("CapEff:\t0000000000203000\n");
        assert_eq!(old.state, State::Fine, "an administrator may load programs: {old:?}");
        let some = rights("CapEff:\t0000000000002000\n");
        assert_eq!(some.found, "no cap_net_admin, cap_bpf");
        assert_eq!(rights("").state, State::Missing);
    }
}
