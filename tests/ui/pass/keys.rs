//! Keys of a program's own: their words, their hashes and their replies.

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    number: u32,
}

impl HeaderKey for Tenant {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        Ok(Self { number: packet.vlan().map_or(0, |tag| tag.id).into() })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(reply = Self::reversed)]
struct Ends(Address, Address);

impl Ends {
    fn reversed(&self) -> Self {
        Self(self.1, self.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Tunnel {
    number: [u8; 4],
}

impl PacketKey for Tunnel {
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        packet.payload().first_chunk().map(|number| Self { number: *number }).ok_or(Truncated)
    }
}

/// Its file says it in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected, no_columns)]
struct Cell {
    number: u32,
}

impl FromColumns for Cell {
    const COLUMNS: &'static [&'static str] = &["cell"];

    #[host_only]
    fn from_columns(file: &mut dyn cora::config::File) -> Option<Self> {
        let text: String = cora::config::read(file, "cell")?;
        let number = u32::from_str_radix(&text, 16);
        number.map_err(|error| file.fault("cell", &error)).ok().map(|number| Self { number })
    }
}

#[state(map, key = Cell, capacity = 10)]
struct Mast {
    height: u8,
}

/// Sketches take keys that no packet carries.
#[state(commutative)]
struct Seen {
    lengths: TopK<u32, 4>,
    names: Latest<Bytes<8>, u64, 4>,
    last: Latest<One, u64, 1>,
}

const TALKS: u32 = 1 << 4;

#[state(key = FiveTuple, within = Tenant, capacity = TALKS * 2, idle = "5m")]
struct Talk {
    packets: u64,
}

#[state(key = Tunnel, within = Tenant, capacity = TALKS as u32, idle = "5m")]
struct Tunnelled {
    packets: u64,
}

fn main() {
    let tenant = Tenant { number: 7 };
    assert_eq!(tenant.words(), [7, 0, 0, 0, 0]);
    assert_eq!(tenant.reply(), Some(tenant));
    let ends = Ends(Address::v4([10, 0, 0, 1]), Address::v4([10, 0, 0, 2]));
    assert_eq!(ends.reply().and_then(|reply| reply.reply()), Some(ends));
    assert_ne!(ends.words(), ends.reversed().words());
    assert_eq!(Tunnel { number: [1; 4] }.reply(), None);

    // Keys that no packet carries.
    assert_eq!((7_u32.words(), One.words()), ([7, 0, 0, 0, 0], [0; 5]));
    assert_ne!(Bytes::<38>::EMPTY.words(), Bytes::<38>::of(&[0]).unwrap().words());

    let mut seen = <Seen as cora::__private::core::state::Replica>::EMPTY;
    let name = Bytes::of(b"name").unwrap();
    seen.lengths.raise(60, 1);
    seen.names.renew(&name, 2, 0);
    seen.last.renew(&One, 3, 0);
    assert_eq!(seen.lengths.iter().map(|(key, _)| key).collect::<Vec<u32>>(), [60]);

    let mut frame = cora::testing::udp(([10, 0, 0, 1], 5), ([192, 0, 2, 1], 6), &[1, 2, 3, 4, 5]);
    let mut packet = Packet::new(&mut frame, Meta::default());
    assert_eq!(Tunnel::of_packet(&packet), Ok(Tunnel { number: [1, 2, 3, 4] }));
    assert_eq!(Tenant::of_packet(&packet), Ok(Tenant { number: 0 }));

    let masts = cora::testing::configured::<Mast>("cell, height\n1f, 30\n");
    assert_eq!(masts.get(&Cell { number: 31 }).map(|mast| mast.height), Some(30));

    // Entries of one tenant are not those of another.
    let mut talks = cora::testing::table::<Talk>();
    let key = packet.five_tuple().unwrap();
    assert_eq!(talks.insert(key, Talk { packets: 1 }).map_err(Reason::from), Err(ForeignKey));
    cora::testing::on(&mut talks, &packet);
    assert!(talks.insert(key, Talk { packets: 1 }).is_ok());
    packet.splice(12, 0, &[0x81, 0, 0, 9]).unwrap_err();
    let mut tagged = frame[..12].to_vec();
    tagged.extend([0x81, 0, 0, 9]);
    tagged.extend(&frame[12..]);
    let packet = Packet::new(&mut tagged, Meta::default());
    assert_eq!(packet.five_tuple(), Ok(key));
    cora::testing::on(&mut talks, &packet);
    assert!(talks.get(&key).is_none());
}
