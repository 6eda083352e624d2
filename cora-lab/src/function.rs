//! The network functions, and the kernel's rules that do the same.

use std::net::{IpAddr, Ipv4Addr};

use crate::site::{CLIENT_V4, CLIENT_V6, PUBLIC, SERVER_V4, SERVER_V6, SERVICE};

/// A network function that both Cora and the kernel can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Inside may open, outside may only answer.
    Firewall,
    /// A firewall with one public address for all clients; IPv6 passes.
    Nat,
    /// A service address stands for four servers; all else passes.
    Balancer,
    /// A router: no rule at all.
    Gateway,
}

impl Function {
    /// All, in the order that they are tried in.
    pub const ALL: [Self; 4] = [Self::Firewall, Self::Nat, Self::Balancer, Self::Gateway];

    /// Returns the name of the example.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Firewall => "firewall",
            Self::Nat => "nat",
            Self::Balancer => "balancer",
            Self::Gateway => "gateway",
        }
    }

    /// Returns whether Cora has addresses here, and is a hop.
    pub const fn is_hop(self) -> bool {
        matches!(self, Self::Gateway)
    }

    /// Returns the servers' addresses for clients.
    pub fn servers(self) -> Vec<IpAddr> {
        match self {
            Self::Firewall | Self::Nat | Self::Gateway => vec![SERVER_V4.into(), SERVER_V6.into()],
            Self::Balancer => vec![SERVICE.into()],
        }
    }

    /// Returns the clients' addresses for servers: a translated one, if any, and the true ones.
    pub fn clients(self) -> Vec<IpAddr> {
        match self {
            Self::Firewall | Self::Balancer | Self::Gateway => {
                vec![CLIENT_V4.into(), CLIENT_V6.into()]
            }
            Self::Nat => vec![PUBLIC.into(), CLIENT_V4.into(), CLIENT_V6.into()],
        }
    }

    /// Returns the address that stands for all clients outside.
    pub const fn public(self) -> Option<Ipv4Addr> {
        match self {
            Self::Nat => Some(PUBLIC),
            Self::Firewall | Self::Balancer | Self::Gateway => None,
        }
    }

    /// Returns whether it follows the states of TCP connections.
    pub const fn has_states(self) -> bool {
        !matches!(self, Self::Balancer | Self::Gateway)
    }

    /// Returns the kernel's nftables rules for it, between interfaces `inside` and `outside`.
    pub fn rules(self) -> String {
        // Packets from outside to the box itself have no receiver, as with Cora, which has no
        // address.
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
            Self::Gateway => ("accept".to_owned(), String::new()),
        };
        let hook = "type filter hook forward priority 0; policy accept;";
        format!(
            "table inet lab {{ chain forward {{ {hook}\n{forward}\n }}\n {input}\n }}\n{translate}\n"
        )
    }
}
