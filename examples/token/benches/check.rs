//! What the check of a request costs beside a bare HMAC-SHA256 of its signed bytes, both by the
//! crates of the program: `cargo bench -p token`.
//!
//! The two take turns, so that what else the machine does meets both. Each figure is the median of
//! 201 turns, of 1,000 requests each.

use std::hint::black_box;
use std::time::Instant;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use cora::prelude::*;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use token::{check, secret::Secret};

const TURNS: usize = 201;
const REQUESTS: u32 = 1_000;
const KEY: &[u8] = b"a key of thirty-two bytes, or so";

fn hmac(bytes: &[u8]) -> [u8; 32] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(KEY).expect("a key of any length will do");
    hmac.update(bytes);
    hmac.finalize().into_bytes().into()
}

/// A POST with a token of which so many bytes are signed, between two other pairs.
fn request(signed: &str) -> Vec<u8> {
    let mut signature = [0; 43];
    let signature = Base64UrlUnpadded::encode(&hmac(signed.as_bytes()), &mut signature);
    let token = format!("{signed}.{}", signature.expect("room for it"));
    let length = u8::try_from(token.len()).expect("a short token");
    let head = b"\x44\x02\x12\x34\xde\xad\xbe\xef\xb5light\x11\x3c\xff\xa3\x62on\xf5\x65token\x78";
    [&head[..], &[length], token.as_bytes(), b"\x65level\x18\x40"].concat()
}

/// Nanoseconds of one, in a turn.
fn turn(mut one: impl FnMut()) -> f64 {
    let begin = Instant::now();
    for _ in 0..REQUESTS {
        one();
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}

fn main() {
    let key = str::from_utf8(KEY).expect("a text");
    let secret = Secret::configure(&format!("key {key}")).expect("a key");
    for length in [81, 160] {
        let signed = "a".repeat(length);
        let right = request(&signed);
        assert_eq!(check(&right, &secret), Ok(()), "the request is right");
        let (mut bare, mut checked) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            bare.push(turn(|| _ = black_box(hmac(black_box(signed.as_bytes())))));
            checked.push(turn(|| _ = black_box(check(black_box(&right), black_box(&secret)))));
        }
        let (bare, checked) = (median(bare), median(checked));
        println!(
            "{length} signed bytes: bare HMAC {bare:.0} ns, check of a request {checked:.0} ns ({:+.0})",
            checked - bare
        );
    }
}
