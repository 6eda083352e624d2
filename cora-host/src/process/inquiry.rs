//! Questions of a run to its card: would the agent there serve another build? The relay passes them
//! on, amid its session, which goes on.
//!
//! ```text
//! supervisor: own end ── socket ── relay's end ── relay ══ link ══ agent
//! ```
//!
//! The supervisor keeps both ends, so that a question waits for the next relay if one dies.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use cora_link::mirror::Build;

use crate::RunError;

/// How long the card may take to answer. Its agent may run a program to find out.
const PATIENCE: Duration = Duration::from_secs(8);
/// How often a relay looks for questions.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Both ends of the socket.
#[derive(Debug)]
pub(crate) struct Inquiry {
    own: UnixDatagram,
    relays: UnixDatagram,
}

fn failed(cause: std::io::Error) -> RunError {
    RunError::System { what: "a socket for questions to the card", cause }
}

impl Inquiry {
    pub(crate) fn new() -> Result<Self, RunError> {
        let (own, relays) = UnixDatagram::pair().map_err(failed)?;
        own.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { own, relays })
    }

    /// The end that relays inherit.
    pub(crate) fn for_relays(&self) -> BorrowedFd<'_> {
        self.relays.as_fd()
    }

    /// The end for a thread that asks.
    pub(crate) fn asker(&self) -> Result<Asker, String> {
        self.own.try_clone().map(Asker).map_err(|cause| failed(cause).to_string())
    }
}

/// Asks a card.
#[derive(Debug)]
pub(crate) struct Asker(UnixDatagram);

impl Asker {
    /// Whether the card would serve this build; the error is the reason why nobody knows.
    pub(crate) fn serves(&self, build: Build) -> Result<bool, String> {
        let silent = || {
            "the card does not say whether it has that program: ask again when it is \
                         there, or see its agent's words"
                .to_owned()
        };
        self.0.send(&encode(build, None)).map_err(|cause| failed(cause).to_string())?;
        let begun = Instant::now();
        let mut bytes = [0; LONGEST];
        while begun.elapsed() < PATIENCE {
            let length = self.0.recv(&mut bytes).map_err(|_| silent())?;
            // An answer to an earlier question may come late.
            if let Some((of, Some(serves))) = decode(&bytes[..length])
                && of == build
            {
                return Ok(serves);
            }
        }
        Err(silent())
    }
}

/// The end of a relay.
#[derive(Debug)]
pub(crate) struct Questions {
    socket: UnixDatagram,
    looked: Instant,
}

impl Questions {
    pub(crate) fn at(socket: OwnedFd) -> Result<Self, RunError> {
        let socket = UnixDatagram::from(socket);
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, looked: Instant::now() })
    }

    /// The next question, if there is one. Looks only now and then.
    pub(crate) fn next(&mut self) -> Option<Build> {
        if self.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        self.looked = Instant::now();
        let mut bytes = [0; LONGEST];
        match self.socket.recv(&mut bytes) {
            Ok(length) => Some(decode(&bytes[..length])?.0),
            Err(why) if why.kind() == ErrorKind::WouldBlock => None,
            // Nobody can ask any more, but the session goes on.
            Err(_) => None,
        }
    }

    pub(crate) fn answer(&self, build: Build, serves: bool) {
        // The one who asked has gone away if this fails.
        let _said = self.socket.send(&encode(build, Some(serves)));
    }
}

/// Bytes of a question or an answer, at most.
const LONGEST: usize = 17;

fn encode(build: Build, serves: Option<bool>) -> Vec<u8> {
    let Build { layout, plan } = build;
    let words = [layout, plan].into_iter().flat_map(u64::to_le_bytes);
    words.chain(serves.map(u8::from)).collect()
}

fn decode(bytes: &[u8]) -> Option<(Build, Option<bool>)> {
    let (words, rest) = bytes.as_chunks::<8>();
    let [layout, plan] = words.first_chunk()?.map(u64::from_le_bytes);
    Some((Build { layout, plan }, rest.first().map(|serves| *serves == 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_that_to_the_question() {
        let inquiry = Inquiry::new().expect("a socket");
        let end = inquiry.for_relays().try_clone_to_owned().expect("a file");
        let mut relay = Questions::at(end).expect("a relay");
        let build = |plan| Build { layout: 3, plan };
        let asker = inquiry.asker().expect("an end");
        let asked = std::thread::spawn(move || asker.serves(build(7)));
        let question = loop {
            if let Some(question) = relay.next() {
                break question;
            }
        };
        assert_eq!(question, build(7));
        relay.answer(build(6), true);
        relay.answer(build(7), false);
        assert_eq!(asked.join().expect("it ends"), Ok(false));
    }
}
