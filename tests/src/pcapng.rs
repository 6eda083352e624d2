//! Reads the capture of a tap: the interface and the comment of each packet.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

/// Returns interface and comment of each packet of a pcapng with little-endian words.
pub fn comments(mut bytes: &[u8]) -> Vec<(String, String)> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let (mut names, mut found) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let (kind, length) = (word(bytes, 0), word(bytes, 4) as usize);
        let (block, rest) = bytes.split_at(length);
        bytes = rest;
        let options = match kind {
            1 => 16,
            6 => 28 + (word(block, 20) as usize).next_multiple_of(4),
            _ => continue,
        };
        let mut options = &block[options..length - 4];
        let mut text = String::new();
        while let Some(head) = options.first_chunk::<4>() {
            let (code, size) = (
                u16::from_le_bytes([head[0], head[1]]),
                usize::from(head[2]) | usize::from(head[3]) << 8,
            );
            // A name of an interface, or a comment.
            if (kind, code) == (1, 2) || (kind, code) == (6, 1) {
                text = String::from_utf8(options[4..4 + size].to_vec()).unwrap();
            }
            options = &options[4 + size.next_multiple_of(4)..];
        }
        if kind == 1 {
            names.push(text);
        } else {
            found.push((names[word(block, 8) as usize].clone(), text));
        }
    }
    found
}
