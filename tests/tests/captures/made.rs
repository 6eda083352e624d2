//! Captures made byte by byte, and frames in them.

/// Nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Time stamp of the first frame (ns since 1970).
pub(crate) const BEGIN: u64 = 1_700_000_000 * SECOND;
/// A host that is inside by its address, and one that is outside.
pub(crate) const INSIDE: [u8; 4] = [10, 0, 0, 2];
pub(crate) const OUTSIDE: [u8; 4] = [198, 51, 100, 7];

/// Returns a datagram from `port` to port 53, with `payload` bytes of payload.
pub(crate) fn datagram(from: [u8; 4], to: [u8; 4], port: u16, payload: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((28 + payload).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(from);
    frame.extend(to);
    let words = frame[14..].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = !(((folded & 0xffff) + (folded >> 16)) as u16);
    frame[24..26].copy_from_slice(&folded.to_be_bytes());
    frame.extend(port.to_be_bytes());
    frame.extend(53_u16.to_be_bytes());
    frame.extend((8 + payload).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(frame.len() + usize::from(payload), 7);
    frame
}

/// Returns a pcap of frames, each with its time, its captured bytes, and its original length.
pub(crate) fn pcap(link: u32, frames: &[(u64, &[u8], usize)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link] {
        bytes.extend(word.to_le_bytes());
    }
    for (time, frame, original) in frames {
        let [seconds, rest] = [time / SECOND, time % SECOND];
        for word in [seconds as u32, rest as u32, frame.len() as u32, *original as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(*frame);
    }
    bytes
}

/// Returns captured bytes and original lengths of the frames in a little-endian pcap.
pub(crate) fn frames_of(pcap: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes"));
    let (mut frames, mut at) = (Vec::new(), 24);
    while at < pcap.len() {
        let length = word(at + 8) as usize;
        frames.push((pcap[at + 16..at + 16 + length].to_vec(), word(at + 12)));
        at += 16 + length;
    }
    frames
}

/// A pcapng under construction, with one section or more.
pub(crate) struct Pcapng {
    pub(crate) bytes: Vec<u8>,
}

impl Pcapng {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new() }.section()
    }

    fn block(mut self, kind: u32, body: &[&[u8]]) -> Self {
        let body = body.concat();
        let padded = body.len().next_multiple_of(4);
        let length = (padded as u32 + 12).to_le_bytes();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length);
        self.bytes.extend(&body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(length);
        self
    }

    /// Begins another section, without interfaces.
    pub(crate) fn section(self) -> Self {
        let version = [1, 0, 0, 0];
        self.block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes(), &version, &[0xff; 8]])
    }

    /// Describes an Ethernet interface.
    pub(crate) fn interface(self) -> Self {
        self.block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0]])
    }

    /// Adds a frame that came in at an interface.
    pub(crate) fn frame(self, interface: u32, frame: &[u8]) -> Self {
        let length = (frame.len() as u32).to_le_bytes();
        self.block(6, &[&interface.to_le_bytes(), &[0; 8], &length, &length, frame])
    }
}
