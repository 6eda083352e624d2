//! Captures in which some packets come in fragments.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use cora::prelude::{Packet, checksum};
use cora_traffic::pcap::Writer;

use crate::captures::each;

/// Divides every third IPv4 packet that is long enough into fragments. The first one has 32 bytes
/// of the transport. One divided packet in eight has its fragments in the wrong order.
pub fn in_parts(original: &Path, out: &Path) {
    let to = File::create(out).map(BufWriter::new);
    let to = to.unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let mut writer = Writer::new(to).unwrap_or_else(|error| panic!("{error}"));
    let mut number = 0_u16;
    each(original, |time, packet| {
        number = number.wrapping_add(1);
        let mut frames = vec![packet.frame().to_vec()];
        if number.is_multiple_of(3) && is_divisible(packet) {
            frames = parts(packet.frame(), number);
            if number.is_multiple_of(8) {
                frames.reverse();
            }
        }
        for frame in frames {
            writer.write(time, &frame).unwrap_or_else(|error| panic!("{error}"));
        }
    });
    writer.finish().unwrap_or_else(|error| panic!("{error}"));
}

/// Returns whether the packet has a flow, no tag and no options, and enough bytes to divide.
fn is_divisible(packet: &Packet<'_>) -> bool {
    let is_plain = packet.frame().get(12..15) == Some(&[8, 0, 0x45]) && !packet.is_icmp_error();
    is_plain && packet.five_tuple().is_ok() && packet.frame().len() > 14 + 20 + 80
}

fn parts(frame: &[u8], identification: u16) -> Vec<Vec<u8>> {
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let transport = &frame[34..14 + total];
    let middle = 32 + (transport.len() - 32) / 16 * 8;
    let part = |from: usize, to: usize| {
        let mut part = frame[..34].to_vec();
        part[16..18].copy_from_slice(&(20 + (to - from) as u16).to_be_bytes());
        part[18..20].copy_from_slice(&identification.to_be_bytes());
        let more = u16::from(to < transport.len()) << 13;
        part[20..22].copy_from_slice(&((from as u16 >> 3) | more).to_be_bytes());
        part[24..26].fill(0);
        let sum = checksum::internet(&part[14..34]).to_be_bytes();
        part[24..26].copy_from_slice(&sum);
        part.extend_from_slice(&transport[from..to]);
        part
    };
    vec![part(0, 32), part(32, middle), part(middle, transport.len())]
}
