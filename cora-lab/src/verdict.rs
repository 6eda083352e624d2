//! Both results beside each other, as a table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use crate::function::Function;

/// What one check saw through one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What was done.
    pub check: String,
    /// What came of it.
    pub result: String,
    /// Whether the other box has to give the same; otherwise it is told only.
    pub compared: bool,
}

impl Observed {
    /// A result that has to be the same whatever is in the middle.
    pub fn compared(check: impl Into<String>, result: impl Into<String>) -> Self {
        Self { check: check.into(), result: result.into(), compared: true }
    }

    /// A figure that may differ.
    pub fn told(check: impl Into<String>, result: impl Into<String>) -> Self {
        Self { check: check.into(), result: result.into(), compared: false }
    }
}

/// Whether two results agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agree {
    /// They are the same.
    Yes,
    /// They differ as is known and explained, and not otherwise.
    Explained(&'static str),
    /// They differ.
    No,
    /// Figures that are not compared.
    Told,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The network function.
    pub function: Function,
    /// What was done.
    pub check: String,
    /// Through Cora.
    pub ours: String,
    /// Through the kernel.
    pub kernel: String,
    /// Whether they agree.
    pub agree: Agree,
}

/// A difference that is known: for a check, what each box gives, and why.
struct Known {
    check: &'static str,
    ours: &'static str,
    kernel: &'static str,
    why: &'static str,
}

/// Explained in docs/lab.md.
const KNOWN: &[Known] = &[
    Known {
        check: "captures: hops taken off TTL",
        ours: "0",
        kernel: "1",
        why: "Cora is a bump in the wire, the kernel a router",
    },
    Known {
        check: "state: SYN reset by the server",
        ours: "tcp/9 closed 1, tcp6/9 closed 1",
        kernel: "none",
        why: "connection tracking forgets such a connection at once, Cora keeps it for its idle time",
    },
    Known {
        check: "state: SYN reset by the server",
        ours: "tcp/9 closed 1",
        kernel: "none",
        why: "connection tracking forgets such a connection at once, Cora keeps it for its idle time",
    },
    Known {
        check: "state: forged RST, out of window",
        ours: "tcp/9110 closed 3",
        kernel: "tcp/9110 established 3",
        why: "Cora's TcpState does not follow sequence numbers; the ends do, and talk on",
    },
    Known {
        check: "traceroute",
        ours: "198.51.100.1, server",
        kernel: "10.77.0.254, 198.51.100.1, server",
        why: "Cora is a bump in the wire, the kernel a router",
    },
    Known {
        check: "traceroute over IPv6",
        ours: "2001:db8:1::1, server",
        kernel: "fd00:77::fe, 2001:db8:1::1, server",
        why: "Cora is a bump in the wire, the kernel a router",
    },
];

/// Puts what was seen through both beside each other.
pub fn compare(function: Function, ours: Vec<Observed>, kernel: Vec<Observed>) -> Vec<Row> {
    let mut kernel = kernel;
    let mut rows = Vec::new();
    for seen in ours {
        let at = kernel.iter().position(|it| it.check == seen.check);
        let its = at.map_or_else(|| "–".to_owned(), |at| kernel.remove(at).result);
        rows.push(row(function, seen.compared, seen.check, seen.result, its));
    }
    // What only the kernel told.
    for seen in kernel {
        rows.push(row(function, seen.compared, seen.check, "–".to_owned(), seen.result));
    }
    rows
}

fn row(function: Function, compared: bool, check: String, ours: String, kernel: String) -> Row {
    let known = KNOWN
        .iter()
        .find(|known| known.check == check && known.ours == ours && known.kernel == kernel);
    let agree = match known {
        _ if !compared => Agree::Told,
        _ if ours == kernel => Agree::Yes,
        Some(known) => Agree::Explained(known.why),
        None => Agree::No,
    };
    Row { function, check, ours, kernel, agree }
}

impl Agree {
    const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Explained(_) => "explained",
            Self::No => "NO",
            Self::Told => "",
        }
    }
}

/// A readable table: a check per line, grouped by network function.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut function = None;
        for row in self.0 {
            if function != Some(row.function) {
                function = Some(row.function);
                writeln!(f, "\n{}", row.function.name())?;
                writeln!(f, "  {:<42} {:<9} result", "check", "agree")?;
            }
            write!(f, "  {:<42} {:<9} ", row.check, row.agree.word())?;
            if row.ours == row.kernel {
                writeln!(f, "{}", row.ours)?;
            } else {
                writeln!(f, "ours:   {}", row.ours)?;
                writeln!(f, "  {:<42} {:<9} kernel: {}", "", "", row.kernel)?;
            }
            if let Agree::Explained(why) = row.agree {
                writeln!(f, "  {:<42} {:<9} {why}", "", "")?;
            }
        }
        let count = |what: fn(&Agree) -> bool| self.0.iter().filter(|it| what(&it.agree)).count();
        let explained = count(|agree| matches!(agree, Agree::Explained(_)));
        writeln!(
            f,
            "\n{} agree, {explained} differ as explained, {} disagree; {} only told",
            count(|agree| *agree == Agree::Yes),
            count(|agree| *agree == Agree::No),
            count(|agree| *agree == Agree::Told),
        )
    }
}

/// All as one JSON object, `cora-lab/1`.
pub fn to_json(rows: &[Row], ports: &str, seed: u64) -> Value {
    let row = |row: &Row| {
        let why = match row.agree {
            Agree::Explained(why) => Some(why),
            Agree::Yes | Agree::No | Agree::Told => None,
        };
        let agree = match row.agree {
            Agree::Yes => "yes",
            Agree::Explained(_) => "explained",
            Agree::No => "no",
            Agree::Told => "told",
        };
        json!({
            "function": row.function.name(),
            "check": row.check,
            "ours": row.ours,
            "kernel": row.kernel,
            "agree": agree,
            "why": why,
        })
    };
    let disagree = rows.iter().filter(|row| row.agree == Agree::No).count();
    json!({
        "schema": "cora-lab/1",
        "ports": ports,
        "seed": seed,
        "disagree": disagree,
        "checks": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_difference_is_no_licence_for_others() {
        let agree = |ours: &str, kernel: &str| {
            let seen = |text: &str| vec![Observed::compared("captures: hops taken off TTL", text)];
            compare(Function::Nat, seen(ours), seen(kernel))[0].agree
        };
        assert!(matches!(agree("0", "1"), Agree::Explained(_)));
        assert_eq!(agree("0", "0"), Agree::Yes);
        assert_eq!(agree("0, 3", "1"), Agree::No);
    }

    #[test]
    fn what_only_one_of_them_told_disagrees() {
        let seen = vec![Observed::compared("ping", "5 of 5")];
        assert_eq!(compare(Function::Nat, seen.clone(), Vec::new())[0].agree, Agree::No);
        assert_eq!(compare(Function::Nat, Vec::new(), seen)[0].agree, Agree::No);
        let told = vec![Observed::told("rate", "1 Gbit/s")];
        assert_eq!(compare(Function::Nat, told, Vec::new())[0].agree, Agree::Told);
    }
}
