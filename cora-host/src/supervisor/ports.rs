//! What the ports of a live wire are: `inside=tap:NAME,outside=tap:NAME`.

use std::str::FromStr;

/// Longest name of an interface, as Linux has it.
const LONGEST: usize = 15;

/// What each port is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The port towards the protected network: the name of its TAP interface.
    pub(crate) inside: String,
    /// The port towards the rest of the world.
    pub(crate) outside: String,
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut inside, mut outside) = (None, None);
        for part in text.split(',') {
            let (port, device) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` says no port: write inside=tap:NAME,outside=tap:NAME")
            })?;
            let place = match port {
                "inside" => &mut inside,
                "outside" => &mut outside,
                _ => return Err(format!("there is no port `{port}`: it is inside or outside")),
            };
            if place.replace(tap(device)?).is_some() {
                return Err(format!("the port `{port}` is said twice"));
            }
        }
        let missing = |port| move || format!("the port `{port}` is missing: {port}=tap:NAME");
        let ports = Self {
            inside: inside.ok_or_else(missing("inside"))?,
            outside: outside.ok_or_else(missing("outside"))?,
        };
        if ports.inside == ports.outside {
            return Err(format!(
                "both ports are `{}`: each is an interface of its own",
                ports.inside
            ));
        }
        Ok(ports)
    }
}

fn tap(device: &str) -> Result<String, String> {
    let Some(name) = device.strip_prefix("tap:") else {
        return Err(format!("`{device}` is no device that is known here: write tap:NAME"));
    };
    let fits = (1..=LONGEST).contains(&name.len());
    if !fits
        || name.contains(|letter: char| letter == '/' || letter.is_whitespace() || letter == '%')
    {
        return Err(format!(
            "`{name}` is no name of an interface: 1 to {LONGEST} bytes without `/`, `%` and blanks"
        ));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ports_are_named_once_each() {
        let read = |text: &str| text.parse::<Ports>();
        let both = Ports { inside: "a0".into(), outside: "b0".into() };
        assert_eq!(read("inside=tap:a0,outside=tap:b0"), Ok(both.clone()));
        assert_eq!(read("outside=tap:b0,inside=tap:a0"), Ok(both));
        for (wrong, why) in [
            ("", "says no port"),
            ("inside=tap:a", "`outside` is missing"),
            ("inside=tap:a,outside=tap:a", "both ports"),
            ("inside=tap:a,inside=tap:b", "twice"),
            ("left=tap:a,outside=tap:b", "no port `left`"),
            ("inside=pcap:a,outside=tap:b", "no device"),
            ("inside=tap:,outside=tap:b", "no name"),
            ("inside=tap:sixteen-letters-,outside=tap:b", "no name"),
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
