//! Both results beside each other, as a table and as JSON.

use std::fmt;

use serde_json::{Value, json};

/// The result of one check through one box.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The name of the check.
    pub check: String,
    /// Its result.
    pub result: String,
    /// Whether the other box has to give the same; otherwise it is told only.
    pub compared: bool,
    /// A number may differ from the other box's by this part of it.
    pub tolerance: Option<f64>,
}

impl Observed {
    /// Returns a result that has to be the same for both boxes.
    pub fn compared(check: impl Into<String>, result: impl Into<String>) -> Self {
        Self { check: check.into(), result: result.into(), compared: true, tolerance: None }
    }

    /// Returns a number that may differ from the other box's by this part of it.
    pub fn near(check: impl Into<String>, number: f64, tolerance: f64) -> Self {
        let result = format!("{number:.1}");
        Self { check: check.into(), result, compared: true, tolerance: Some(tolerance) }
    }

    /// Returns a figure that may differ.
    pub fn told(check: impl Into<String>, result: impl Into<String>) -> Self {
        Self { check: check.into(), result: result.into(), compared: false, tolerance: None }
    }
}

/// Whether two results agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agree {
    /// They are the same.
    Yes,
    /// They are numbers that differ by less than the part that is allowed.
    Near(f64),
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
    /// The network function, by its example's name.
    pub function: &'static str,
    /// The name of the check.
    pub check: String,
    /// Through Cora.
    pub ours: String,
    /// Through the kernel.
    pub kernel: String,
    /// Whether they agree.
    pub agree: Agree,
}

/// A known difference: a check, each box's result, and the reason.
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

/// Puts the results through both boxes beside each other.
pub fn compare(function: &'static str, ours: Vec<Observed>, mut kernel: Vec<Observed>) -> Vec<Row> {
    let mut rows = Vec::new();
    for seen in ours {
        let at = kernel.iter().position(|it| it.check == seen.check);
        let its = at.map_or_else(|| "–".to_owned(), |at| kernel.remove(at).result);
        rows.push(row(function, seen, its));
    }
    // Results that only the kernel gave.
    for seen in kernel {
        let its = seen.result.clone();
        rows.push(row(function, Observed { result: "–".to_owned(), ..seen }, its));
    }
    rows
}

fn row(function: &'static str, seen: Observed, kernel: String) -> Row {
    let Observed { check, result: ours, compared, tolerance } = seen;
    let known = KNOWN
        .iter()
        .find(|known| known.check == check && known.ours == ours && known.kernel == kernel);
    let agree = match (known, tolerance) {
        _ if !compared => Agree::Told,
        _ if ours == kernel => Agree::Yes,
        (_, Some(part)) if is_near(&ours, &kernel, part) => Agree::Near(part),
        (Some(known), _) => Agree::Explained(known.why),
        (None, _) => Agree::No,
    };
    Row { function, check, ours, kernel, agree }
}

/// Returns whether both are numbers, and the one is within this part of the other.
fn is_near(ours: &str, kernel: &str, part: f64) -> bool {
    match (ours.parse::<f64>(), kernel.parse::<f64>()) {
        (Ok(ours), Ok(kernel)) => (ours - kernel).abs() <= part * kernel,
        _ => false,
    }
}

impl Agree {
    /// Returns whether nothing is wrong: the same, or as near as it may be.
    pub const fn is_yes(self) -> bool {
        matches!(self, Self::Yes | Self::Near(_))
    }

    fn word(self) -> String {
        match self {
            Self::Yes => "yes".to_owned(),
            Self::Near(part) => format!("±{:.0} %", part * 100.0),
            Self::Explained(_) => "explained".to_owned(),
            Self::No => "NO".to_owned(),
            Self::Told => String::new(),
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
                writeln!(f, "\n{}", row.function)?;
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
            count(|agree| agree.is_yes()),
            count(|agree| *agree == Agree::No),
            count(|agree| *agree == Agree::Told),
        )
    }
}

/// Returns all rows as one JSON object, `cora-lab/1`.
pub fn to_json(rows: &[Row], ports: &str, seed: u64) -> Value {
    let row = |row: &Row| {
        let why = match row.agree {
            Agree::Explained(why) => Some(why),
            Agree::Yes | Agree::Near(_) | Agree::No | Agree::Told => None,
        };
        let agree = match row.agree {
            Agree::Yes | Agree::Near(_) => "yes",
            Agree::Explained(_) => "explained",
            Agree::No => "no",
            Agree::Told => "told",
        };
        json!({
            "function": row.function,
            "check": row.check,
            "ours": row.ours,
            "kernel": row.kernel,
            "agree": agree,
            "tolerance": if let Agree::Near(part) = row.agree { Some(part) } else { None },
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
            compare("nat", seen(ours), seen(kernel))[0].agree
        };
        assert!(matches!(agree("0", "1"), Agree::Explained(_)));
        assert_eq!(agree("0", "0"), Agree::Yes);
        assert_eq!(agree("0, 3", "1"), Agree::No);
    }

    #[test]
    fn numbers_agree_within_what_is_allowed_and_not_beyond() {
        let agree = |ours: f64| {
            let seen = |number| vec![Observed::near("passed", number, 0.03)];
            compare("policer", seen(ours), seen(1000.0))[0].agree
        };
        assert_eq!(agree(1000.0), Agree::Yes);
        assert!(agree(1030.0).is_yes() && agree(970.0).is_yes());
        assert_eq!((agree(1031.0), agree(969.0), agree(0.0)), (Agree::No, Agree::No, Agree::No));
        let only_ours = vec![Observed::near("passed", 1000.0, 0.03)];
        assert_eq!(compare("policer", only_ours, Vec::new())[0].agree, Agree::No);
    }

    #[test]
    fn what_only_one_of_them_told_disagrees() {
        let seen = vec![Observed::compared("ping", "5 of 5")];
        assert_eq!(compare("nat", seen.clone(), Vec::new())[0].agree, Agree::No);
        assert_eq!(compare("nat", Vec::new(), seen)[0].agree, Agree::No);
        let told = vec![Observed::told("rate", "1 Gbit/s")];
        assert_eq!(compare("nat", told, Vec::new())[0].agree, Agree::Told);
    }
}
