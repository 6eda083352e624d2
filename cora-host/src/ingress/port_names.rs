//! The ports of a live wire: `inside=PORT,outside=PORT`.

use std::str::FromStr;

use cora_port::PortName;

/// The kind of each port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The port towards the protected network.
    pub(crate) inside: PortName,
    /// The port towards the rest of the world.
    pub(crate) outside: PortName,
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut inside, mut outside) = (None, None);
        for part in text.split(',') {
            let (port, device) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` says no port: write inside=PORT,outside=PORT"))?;
            let place = match port {
                "inside" => &mut inside,
                "outside" => &mut outside,
                _ => return Err(format!("there is no port `{port}`: it is inside or outside")),
            };
            if place.replace(device.parse::<PortName>()?).is_some() {
                return Err(format!("the port `{port}` is said twice"));
            }
        }
        let missing = |port| move || format!("the port `{port}` is missing: {port}=PORT");
        let ports = Self {
            inside: inside.ok_or_else(missing("inside"))?,
            outside: outside.ok_or_else(missing("outside"))?,
        };
        if let Some(name) = ports.inside.interface()
            && ports.outside.interface() == Some(name)
        {
            return Err(format!("both ports are `{name}`: each is an interface of its own"));
        }
        Ok(ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ports_are_named_once_each() {
        let read = |text: &str| text.parse::<Ports>();
        let tap = |name: &str| PortName::Tap { interface: name.into() };
        let both = Ports { inside: tap("a0"), outside: tap("b0") };
        assert_eq!(read("inside=tap:a0,outside=tap:b0"), Ok(both.clone()));
        assert_eq!(read("outside=tap:b0,inside=tap:a0"), Ok(both));
        let mixed = read("inside=xdp:a0?queues=2&mode=copy,outside=packet:b0").unwrap();
        assert_eq!(mixed.outside, PortName::Packet { interface: "b0".into() });
        for (wrong, why) in [
            ("", "says no port"),
            ("inside=tap:a", "`outside` is missing"),
            ("inside=tap:a,outside=tap:a", "both ports"),
            ("inside=xdp:a,outside=packet:a", "both ports"),
            ("inside=tap:a,inside=tap:b", "twice"),
            ("left=tap:a,outside=tap:b", "no port `left`"),
            ("inside=dpdk:a,outside=tap:b", "no kind of port"),
            ("inside=tap:,outside=tap:b", "not the name"),
            ("inside=tap:sixteen-letters-,outside=tap:b", "not the name"),
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
