//! Questions by UDP, many under way at once; those without an answer are asked again.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::nodes::{KEYS, Node};

/// Questions under way at once, which fit the kernel's buffers.
const WINDOW: usize = 32;
/// Time until a question is asked again, and how often that happens.
const PATIENCE: Duration = Duration::from_millis(100);
const TRIES: u32 = 50;

/// An answer of the program.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Is(u64),
    Nothing,
    Loaded(u32),
    Refused,
}

/// `Ask::Find`, encoded.
pub fn find(key: u64) -> Vec<u8> {
    [&[0][..], &key.to_le_bytes()].concat()
}

/// `Ask::Load`, encoded.
pub fn load(number: u32, node: &Node) -> Vec<u8> {
    let padded = |words: &[u64], length: usize| -> Vec<u8> {
        words
            .iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(length)
            .flat_map(u64::to_le_bytes)
            .collect()
    };
    let head = [node.is_leaf.into(), node.keys.len() as u8];
    let number = number.to_le_bytes();
    [&[1][..], &number, &head, &padded(&node.keys, KEYS), &padded(&node.of, KEYS + 1)].concat()
}

fn answer(bytes: &[u8]) -> Option<Answer> {
    let word = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    match bytes.split_first()? {
        (0, value) => word(value).map(Answer::Is),
        (1, []) => Some(Answer::Nothing),
        (2, number) => number.try_into().ok().map(u32::from_le_bytes).map(Answer::Loaded),
        (3, []) => Some(Answer::Refused),
        _ => None,
    }
}

/// A place for a question: a socket of its own, so that its answer is no other's.
struct Place {
    socket: UdpSocket,
    asked: Option<(usize, Instant, u32)>,
}

/// Asks all of them, and calls `take` with the number of each and its answer, in any order.
pub fn ask_all(
    server: SocketAddr,
    questions: &[Vec<u8>],
    mut take: impl FnMut(usize, Answer) -> Result<()>,
) -> Result<()> {
    let mut places = Vec::new();
    for _ in 0..WINDOW.min(questions.len()) {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        places.push(Place { socket, asked: None });
    }
    let (mut next, mut answered) = (0, 0);
    let mut buffer = [0; 64];
    while answered < questions.len() {
        for place in &mut places {
            let Some((number, since, tries)) = place.asked else {
                if next < questions.len() {
                    place.asked = Some((next, Instant::now(), 1));
                    let _lost_or_not = place.socket.send(&questions[next]);
                    next += 1;
                }
                continue;
            };
            if let Ok(length) = place.socket.recv(&mut buffer)
                && let Some(answer) = answer(&buffer[..length])
            {
                take(number, answer)?;
                // A late answer to the same question would look like one to the next.
                place.asked = None;
                answered += 1;
                if tries > 1 {
                    place.socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                    place.socket.connect(server)?;
                    place.socket.set_nonblocking(true)?;
                }
            } else if since.elapsed() > PATIENCE {
                if tries >= TRIES {
                    return Err(Error::new(
                        ErrorKind::TimedOut,
                        format!("{server} does not answer"),
                    ));
                }
                place.asked = Some((number, Instant::now(), tries + 1));
                let _lost_or_not = place.socket.send(&questions[number]);
            }
        }
    }
    Ok(())
}
