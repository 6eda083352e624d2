//! The key that tokens are signed with, and the check of a signature (HMAC, RFC 2104, by SHA-256).

use base64ct::{Base64UrlUnpadded, Encoding as _};
use cora::prelude::*;
use sha2::compress256;
#[host_only]
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;
/// Bytes of a signature, and the characters that it has in a token.
const SIGNATURE: usize = 32;
const ENCODED: usize = 43;
/// A byte to mark the end, and the length of all in bits.
const END: usize = 1 + size_of::<u64>();

/// The key, and where the server listens.
#[state(read_mostly)]
pub struct Secret {
    /// Without a key no token is right.
    has_key: bool,
    /// SHA-256 after the key's block, which every signature begins with: it saves a request two of
    /// the five compressions of a token with 81 signed bytes.
    inner: [u32; 8],
    outer: [u32; 8],
    /// Without an address, any.
    address: Address,
    is_any: bool,
    port: u16,
}

impl Default for Secret {
    fn default() -> Self {
        let (address, is_any) = (Address::v4([0; 4]), true);
        Self { has_key: false, inner: [0; 8], outer: [0; 8], address, is_any, port: 5_683 }
    }
}

impl Secret {
    /// Whether the server may be at this address.
    pub fn is_at(&self, address: Address) -> bool {
        self.is_any || address == self.address
    }

    /// Whether the server listens at this port.
    pub const fn is_port(&self, port: u16) -> bool {
        port == self.port
    }

    /// Whether the token was signed with the key: `header.claims.signature`, where the signature is
    /// of all before it.
    pub fn has_signed(&self, token: &[u8]) -> bool {
        let Some((signed, encoded)) = token.split_last_chunk::<ENCODED>() else { return false };
        let Some(signed) = signed.strip_suffix(b".") else { return false };
        let mut right = [0; ENCODED];
        let right = Base64UrlUnpadded::encode(&self.sign(signed), &mut right).unwrap_or_default();
        // In constant time, so that nobody finds a signature byte by byte.
        let is_right = bool::from(right.as_bytes().ct_eq(encoded));
        is_right && self.has_key
    }

    /// The signature of these bytes.
    fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE] {
        hash(self.outer, &hash(self.inner, bytes))
    }
}

/// Goes on with SHA-256, from its state after one block.
fn hash(mut state: [u32; 8], bytes: &[u8]) -> [u8; SIGNATURE] {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        compress256(&mut state, &[(*block).into()]);
    }
    let mut end = [[0; BLOCK]; 2];
    let bytes_of_end = end.as_flattened_mut();
    for (to, byte) in bytes_of_end.iter_mut().zip(rest) {
        *to = *byte;
    }
    if let Some(mark) = bytes_of_end.get_mut(rest.len()) {
        *mark = 0x80;
    }
    let bits = 8 * (BLOCK + bytes.len()) as u64;
    let [first, second] = &mut end;
    let has_second = rest.len() + END > BLOCK;
    if let Some(length) = (if has_second { second } else { &mut *first }).last_chunk_mut() {
        *length = bits.to_be_bytes();
    }
    compress256(&mut state, &[(*first).into()]);
    if has_second {
        compress256(&mut state, &[end[1].into()]);
    }
    let mut digest = [0; SIGNATURE];
    for (to, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *to = word.to_be_bytes();
    }
    digest
}

#[host_only]
impl Configure for Secret {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let value = value.trim();
            match word {
                "key" => read.set_key(value.as_bytes())?,
                "key-hex" => read.set_key(&bytes(value)?)?,
                "server" => match value.parse::<std::net::SocketAddr>() {
                    Ok(server) => {
                        (read.address, read.is_any) = (server.ip().into(), false);
                        read.port = server.port();
                    }
                    Err(_) => read.port = value.parse().map_err(|_| SERVER)?,
                },
                _ => return Err("a line is `key TEXT`, `key-hex DIGITS` or `server ADDRESS:PORT`"),
            }
        }
        if read.has_key {
            Ok(read)
        } else {
            Err("there is no key: write `key TEXT` or `key-hex DIGITS`")
        }
    }
}

#[host_only]
const SERVER: &str = "`server` has an address and a port, as in 10.0.0.7:5683, or a port";

#[host_only]
impl Secret {
    fn set_key(&mut self, key: &[u8]) -> Result<(), &'static str> {
        if self.has_key {
            return Err("there are two keys");
        }
        if key.is_empty() {
            return Err("the key is empty");
        }
        let mut block = [0; BLOCK];
        let digest = Sha256::digest(key);
        let short = if key.len() > BLOCK { &digest[..] } else { key };
        block[..short.len()].copy_from_slice(short);
        (self.inner, self.outer) = (after(block, 0x36), after(block, 0x5c));
        self.has_key = true;
        Ok(())
    }
}

/// The state of SHA-256 after the key's block, with this in each byte.
#[host_only]
fn after(key: [u8; BLOCK], mask: u8) -> [u32; 8] {
    // FIPS 180-4, section 5.3.3: fractional parts of the square roots of the first eight primes.
    let mut state = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    compress256(&mut state, &[key.map(|byte| byte ^ mask).into()]);
    state
}

/// Two hexadecimal digits a byte.
#[host_only]
fn bytes(digits: &str) -> Result<Vec<u8>, &'static str> {
    const SAYS: &str = "`key-hex` has two hexadecimal digits for each byte";
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(SAYS);
    }
    let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(SAYS);
    let byte = |[high, low]: &[u8; 2]| Ok((digit(*high)? << 4 | digit(*low)?) as u8);
    pairs.iter().map(byte).collect()
}
