//! The network functions, and the kernel's rules that do the same.

use std::net::{IpAddr, Ipv4Addr};

use crate::site::{CLIENT_V4, CLIENT_V6, PUBLIC, SERVER_V4, SERVER_V6, SERVICE};

/// A network function that both Cora and the kernel can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Inside may open, outside may only answer.
    Firewall,
    /// The same, from one public address; IPv6 passes.
    Nat,
    /// A service address stands for four servers; all else passes.
    Balancer,
}

impl Function {
    /// All, in the order that they are tried in.
    pub const ALL: [Self; 3] = [Self::Firewall, Self::Nat, Self::Balancer];

    /// The name of the example.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Firewall => "firewall",
            Self::Nat => "nat",
            Self::Balancer => "balancer",
        }
    }

    /// Where clients find the servers.
    pub fn servers(self) -> Vec<IpAddr> {
        match self {
            Self::Firewall | Self::Nat => vec![SERVER_V4.into(), SERVER_V6.into()],
            Self::Balancer => vec![SERVICE.into()],
        }
    }

    /// Where servers find the clients: what they are sent from, and what they are in truth.
    pub fn clients(self) -> Vec<IpAddr> {
        match self {
            Self::Firewall | Self::Balancer => vec![CLIENT_V4.into(), CLIENT_V6.into()],
            Self::Nat => vec![PUBLIC.into(), CLIENT_V4.into(), CLIENT_V6.into()],
        }
    }

    /// The address that stands for all clients outside.
    pub const fn public(self) -> Option<Ipv4Addr> {
        match self {
            Self::Nat => Some(PUBLIC),
            Self::Firewall | Self::Balancer => None,
        }
    }

    /// Whether it follows the states of TCP connections.
    pub const fn has_states(self) -> bool {
        !matches!(self, Self::Balancer)
    }

    /// What nftables is told to have the kernel do it, between interfaces `inside` and `outside`.
    pub fn rules(self) -> String {
        // What outside sends to the box itself is for nobody, as with Cora, which has no address.
        let input = "chain input { type filter hook input priority 0; policy accept;
            iifname \"outside\" icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
            iifname \"outside\" drop
        }";
        let follow = "ct state invalid drop
            iifname \"inside\" accept
            ct state established,related accept
            drop";
        let (forward, translate) = match self {
            Self::Firewall => (follow.to_owned(), String::new()),
            Self::Nat => {
                let out = "oifname \"outside\"";
                let ports =
                    format!("meta l4proto {{ tcp, udp }} {out} snat to {PUBLIC}:32768-65535");
                let others = format!("meta l4proto icmp {out} snat to {PUBLIC}");
                let chain = "type nat hook postrouting priority 100";
                let table = format!(
                    "table ip lab_nat {{ chain post {{ {chain};\n {ports}\n {others}\n }}\n }}"
                );
                (format!("meta nfproto ipv6 accept\n{follow}"), table)
            }
            Self::Balancer => {
                let chain = "type nat hook prerouting priority -100";
                let to = "dnat to numgen inc mod 4 map \
                          { 0: 10.1.0.1, 1: 10.1.0.2, 2: 10.1.0.3, 3: 10.1.0.4 }";
                let table = format!(
                    "table ip lab_balance {{ chain pre {{ {chain};\n ip daddr {SERVICE} {to}\n }}\n }}"
                );
                ("ct state invalid drop\naccept".to_owned(), table)
            }
        };
        let hook = "type filter hook forward priority 0; policy accept;";
        format!(
            "table inet lab {{ chain forward {{ {hook}\n{forward}\n }}\n {input}\n }}\n{translate}\n"
        )
    }
}
