//! A CoAP server whose requests need a token: with `token` before its socket, wrong ones end on the
//! NIC; without, the server checks them itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::shared_nic::{Server, SharedNic, client};
use super::{LIMIT, Request};
use crate::Result;
use crate::program::Service;
use crate::verdict::Observed;

const SERVER: &str = "10.78.0.1:5683";
const AT: &str = "udp:10.78.0.1:5683";
const KEY: &str = "open sesame";

pub(super) fn with_program(request: &Request) -> Result<Vec<Observed>> {
    let nic = SharedNic::start(&request.command, &request.directory, "lt", &[])?;
    let asked = Arc::new(AtomicU64::new(0));
    // It believes what reaches it.
    let _server = server(&nic, &asked, false)?;
    let config = request.directory.join("secret.txt");
    std::fs::write(&config, format!("key {KEY}\nserver {SERVER}\n"))
        .map_err(|error| format!("{}: {error}", config.display()))?;
    let mut command = nic.attaches(&request.token, &[AT]);
    let config = format!("Secret={}", config.display());
    let program = Service::start(command.args(["--config", &config]))?;
    nic.wait_for(1)?;
    let seen = observe(&nic, request, &asked)?;
    program.interrupt_well("the program", LIMIT)?;
    nic.end()?;
    Ok(seen)
}

pub(super) fn plain(request: &Request) -> Result<Vec<Observed>> {
    let nic = SharedNic::without("lq")?;
    let asked = Arc::new(AtomicU64::new(0));
    let _server = server(&nic, &asked, true)?;
    observe(&nic, request, &asked)
}

/// A server that answers requests, or those with a right token.
fn server(nic: &SharedNic, asked: &Arc<AtomicU64>, checks: bool) -> Result<Server> {
    let asked = Arc::clone(asked);
    Server::start(&nic.inside, SERVER, move |request| {
        asked.fetch_add(1, Ordering::Relaxed);
        if checks && !has_right_token(request) {
            return None;
        }
        // Acknowledged: 2.05 Content, with the message's number and token of CoAP.
        let [_, _, high, low, token @ ..] = request else { return None };
        Some([&[0x64, 0x45, *high, *low], token.get(..4)?, &[0xff], b"ok"].concat())
    })
}

fn observe(nic: &SharedNic, request: &Request, asked: &AtomicU64) -> Result<Vec<Observed>> {
    let socket = client(&nic.outside, SERVER)?;
    socket.set_read_timeout(Some(Duration::from_millis(50))).map_err(|error| error.to_string())?;
    let requests = if request.quick { 60 } else { 500 };
    let mut seen = Vec::new();
    for (name, key) in [("right", KEY), ("wrong", "open barley")] {
        let mut answers = 0;
        for number in 0..requests {
            let sent = socket.send(&coap(number, key));
            sent.map_err(|error| error.to_string())?;
            let mut answer = [0; 64];
            answers += u32::from(socket.recv(&mut answer).is_ok_and(|length| length > 8));
        }
        let result = format!("{answers} of {requests}");
        seen.push(Observed::compared(format!("requests with {name} tokens answered"), result));
    }
    let reached = asked.load(Ordering::Relaxed).to_string();
    seen.push(Observed::told("requests that reached the server", reached));
    Ok(seen)
}

/// A confirmable POST whose payload is a map with a token, signed with this key.
fn coap(number: u16, key: &str) -> Vec<u8> {
    let claims = format!("{{\"sub\":\"lamp\",\"nr\":{number}}}");
    let mut token = format!("{}.{}", base64(br#"{"alg":"HS256"}"#), base64(claims.as_bytes()));
    let signature = hmac(key, token.as_bytes());
    token = format!("{token}.{}", base64(&signature));
    let [high, low] = number.to_be_bytes();
    let mut request = vec![0x44, 2, high, low, 1, 2, 3, 4, 0xff, 0xa1, 0x65];
    request.extend(b"token");
    // A text with its length in one byte.
    request.extend([0x78, token.len() as u8]);
    request.extend(token.as_bytes());
    request
}

/// Whether the request's token is one that the key has signed. It reads the form of [`coap`] alone.
fn has_right_token(request: &[u8]) -> bool {
    let Some(token) = request.get(18..).and_then(|token| std::str::from_utf8(token).ok()) else {
        return false;
    };
    let Some((signed, signature)) = token.rsplit_once('.') else { return false };
    Base64UrlUnpadded::decode_vec(signature).is_ok_and(|it| it == hmac(KEY, signed.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

fn hmac(key: &str, bytes: &[u8]) -> Vec<u8> {
    // A key of any length will do.
    let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else { return Vec::new() };
    hmac.update(bytes);
    hmac.finalize().into_bytes().to_vec()
}
