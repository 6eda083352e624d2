//! The client: one socket with many questions outstanding, each answer followed by the next one.

use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use super::{Asks, LONGEST};

/// Questions that are outstanding.
const OUTSTANDING: usize = 64;
/// Without an answer for so long, all that is outstanding counts as lost.
const PATIENCE: Duration = Duration::from_millis(20);
/// A server has answered its first question after this time at most.
const READY: Duration = Duration::from_secs(20);

/// A client of one server.
#[derive(Debug)]
pub(crate) struct Client {
    socket: UdpSocket,
    outstanding: usize,
}

impl Client {
    /// One that asks there, once it has the first answer. The thread is in the client's network.
    pub(crate) fn of(server: SocketAddrV4, own: [u8; 4]) -> Result<Self> {
        let socket = UdpSocket::bind(SocketAddrV4::new(own.into(), 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, outstanding: 0 })
    }

    /// Waits until the server answers.
    pub(crate) fn wait(&mut self, asks: &mut impl Asks) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < READY {
            if self.ask(asks, 1)? > 0 {
                return Ok(());
            }
            std::thread::sleep(PATIENCE);
        }
        Err(Error::new(ErrorKind::TimedOut, "the server does not answer"))
    }

    /// Asks for so long; returns the number of answers.
    pub(crate) fn run(&mut self, asks: &mut impl Asks, time: Duration) -> Result<u64> {
        let (begun, mut answers) = (Instant::now(), 0);
        while begun.elapsed() < time {
            answers += self.ask(asks, OUTSTANDING)?;
        }
        Ok(answers)
    }

    /// Asks so many questions a second for so long, at times that wait for no answer; returns how
    /// long each answer took from when its question was due (ns). Question and answer begin with a
    /// number of 16 bits.
    pub(crate) fn paced(
        &mut self,
        asks: &mut impl Asks,
        per_second: f64,
        time: Duration,
    ) -> Result<Vec<u32>> {
        self.socket.set_nonblocking(true)?;
        let gap = 1e9 / per_second;
        let (begun, mut number, mut took) = (Instant::now(), 0.0, Vec::new());
        let mut due = vec![None; 1 << 16];
        let mut question = [0; LONGEST];
        let mut answer = [0; 2_048];
        let now = || begun.elapsed().as_nanos() as f64;
        // The last answers have a little more time.
        while begun.elapsed() < time + PATIENCE {
            let next = number * gap;
            if next <= now() && next < time.as_nanos() as f64 {
                number += 1.0;
                let length = asks.next(&mut question);
                // A full socket loses the question, as a network does.
                if self.socket.send(&question[..length]).is_ok() {
                    due[usize::from(u16::from_be_bytes([question[0], question[1]]))] = Some(next);
                }
            }
            while let Ok(2..) = self.socket.recv(&mut answer) {
                let asked = usize::from(u16::from_be_bytes([answer[0], answer[1]]));
                if let Some(next) = due[asked].take() {
                    #[expect(
                        clippy::cast_sign_loss,
                        reason = "an answer comes behind its question"
                    )]
                    took.push((now() - next) as u32);
                }
            }
        }
        self.socket.set_nonblocking(false)?;
        self.outstanding = 0;
        Ok(took)
    }

    /// Fills up to so many questions, and takes an answer; returns whether there was one.
    fn ask(&mut self, asks: &mut impl Asks, most: usize) -> Result<u64> {
        let mut question = [0; LONGEST];
        while self.outstanding < most {
            let length = asks.next(&mut question);
            match self.socket.send(&question[..length]) {
                Ok(_) => self.outstanding += 1,
                // Nobody is there yet, or not any more.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(0),
                Err(error) => return Err(error),
            }
        }
        match self.socket.recv(&mut [0; 2_048]) {
            Ok(_) => {
                self.outstanding = self.outstanding.saturating_sub(1);
                Ok(1)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused
                ) =>
            {
                self.outstanding = 0;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}
