//! Destinations that inside may not open, and the lines of the configuration.

use cora::prelude::*;

const MOST_RULES: usize = 16;

/// Somewhere outside that nobody inside may talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Denied {
    /// As an IPv6 address; those of IPv4 are mapped.
    prefix: u128,
    mask: u128,
    /// 0 for all ports.
    port: u16,
}

/// Destinations that inside may not open.
#[state(read_mostly)]
pub struct Rules {
    /// Of these rules: a connection that was judged under others is judged again.
    pub generation: Generation,
    count: u8,
    denied: [Denied; MOST_RULES],
}

impl Denied {
    const NONE: Self = Self { prefix: 0, mask: 0, port: 0 };
}

impl Default for Rules {
    fn default() -> Self {
        Self { generation: Generation::default(), count: 0, denied: [Denied::NONE; MOST_RULES] }
    }
}

impl Configure for Rules {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut rules = Self::default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            let place =
                rules.denied.get_mut(usize::from(rules.count)).ok_or("more than 16 rules")?;
            *place = denied(line)?;
            rules.count += 1;
        }
        Ok(rules)
    }
}

/// Reads a line.
fn denied(line: &str) -> Result<Denied, &'static str> {
    const FORM: &str = "a line is `deny PREFIX` or `deny PREFIX PORT`";
    let mut words = line.split_whitespace();
    let (Some("deny"), Some(prefix), port, None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(FORM);
    };
    let (prefix, mask) = Address::prefix(prefix)?;
    let port = port.map_or(Ok(0), str::parse).map_err(|_| "a port is a number up to 65535")?;
    Ok(Denied { prefix, mask, port })
}

impl Rules {
    /// Whether somebody inside may talk to that address and port outside. A rule about a port is
    /// not about packets without one, such as pings.
    pub fn allow(&self, outside: Address, port: Option<u16>) -> bool {
        let denied = self.denied.get(..usize::from(self.count)).unwrap_or_default();
        !denied.iter().any(|rule| {
            outside.bits() & rule.mask == rule.prefix && (rule.port == 0 || port == Some(rule.port))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_denies_a_prefix_or_a_port_of_it() {
        let text = "# closed\ndeny 203.0.113.0/24 443 # web\n\ndeny 2001:db8::/32\n";
        let Ok(rules) = Rules::configure(text) else { panic!("it is right") };
        let (closed, other) = (Address::v4([203, 0, 113, 9]), Address::v4([203, 0, 112, 9]));
        assert!(!rules.allow(closed, Some(443)));
        assert!(rules.allow(closed, Some(80)) && rules.allow(other, Some(443)));
        assert!(rules.allow(closed, None), "without a port");
        let mut six = [0; 16];
        six[..4].copy_from_slice(&[0x20, 1, 0xd, 0xb8]);
        assert!(!rules.allow(Address::v6(six), Some(80)) && !rules.allow(Address::v6(six), None));
        assert!(Rules::default().allow(closed, Some(443)));
        let Ok(all) = Rules::configure("deny 0.0.0.0/0") else { panic!("it is right") };
        assert!(!all.allow(closed, Some(1)) && all.allow(Address::v6(six), Some(80)), "IPv4 alone");
    }

    #[test]
    fn what_is_no_line_is_refused_in_words() {
        for (text, why) in [
            ("allow 10.0.0.0/8", "a line is"),
            ("deny 10.0.0.0/8 1 2", "a line is"),
            ("deny 10.0.0.0", "a prefix is"),
            ("deny 10.0.0/8", "not an IP address"),
            ("deny 10.0.0.0/33", "a prefix is longer"),
            ("deny 10.0.0.0/8 65536", "a port is"),
        ] {
            let Err(said) = Rules::configure(text) else { panic!("{text}") };
            assert!(said.starts_with(why), "{text}: {said}");
        }
        let many = "deny 10.0.0.0/8\n".repeat(17);
        assert_eq!(Rules::configure(&many).err(), Some("more than 16 rules"));
    }
}
