//! A thousand connections at once: all are opened, each talks in turn, none may break.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::over;
use crate::Result;
use crate::site::Site;
use crate::verdict::Observed;

const CROWD: usize = 1000;
/// Both ends of each are this process's, and so are those of the crowd of another box that is
/// watched meanwhile.
const MOST_FILES: u64 = 8 * CROWD as u64;
const PORT: u16 = 7100;
/// Questions on each connection.
const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(15);
/// Questions between two pauses: a machine's many clients never send one burst.
const AT_ONCE: usize = 25;
/// Bytes of each question.
const SAID: usize = 100;

pub(super) fn run(site: &Site) -> Result<Vec<Observed>> {
    allow_open_files(MOST_FILES)?;
    let Some(server) = site.function.servers().into_iter().next() else { return Ok(Vec::new()) };
    let bound = site.servers.within(|| TcpListener::bind(("0.0.0.0", PORT)));
    let listener = bound.join().map_err(|_| "the crowd's server panicked")?;
    let listener = listener.map_err(|error| format!("the crowd's server: {error}"))?;
    let serving = std::thread::spawn(move || serve(&listener));
    let asking = site.clients.within(move || ask(server));
    let asked = asking.join().map_err(|_| "the crowd panicked")?;
    let served = serving.join().map_err(|_| "the crowd's server panicked")?;
    let result = match (asked, served) {
        (Ok(right), Ok(())) => format!("{right} of {} answers right", CROWD * ROUNDS),
        (Err(error), _) => format!("client: {error}"),
        (_, Err(error)) => format!("server: {error}"),
    };
    Ok(vec![Observed::compared(over("a thousand connections at once", server), result)])
}

/// Raises this process's limit where it is lower.
fn allow_open_files(wanted: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(maximum.map_or(wanted, |most| most.min(wanted))), maximum };
    setrlimit(Resource::Nofile, raised).map_err(|error| format!("open files: {error}"))
}

fn question(number: usize, round: usize) -> [u8; SAID] {
    std::array::from_fn(|at| (at * 7 + number * 31 + round * 131) as u8)
}

/// Sends all questions before it reads answers. Returns the number of right answers.
fn ask(server: IpAddr) -> io::Result<usize> {
    let address = SocketAddr::new(server, PORT);
    let open = |_| {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    };
    let mut streams: Vec<TcpStream> = (0..CROWD).map(open).collect::<io::Result<_>>()?;
    let mut right = 0;
    for round in 0..ROUNDS {
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&question(number, round))?;
            if number % AT_ONCE == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            let mut answer = [0; SAID];
            stream.read_exact(&mut answer)?;
            right += usize::from(answer == question(number, round));
        }
    }
    Ok(right)
}

/// Serves as many connections in turn, and waits until each has closed.
fn serve(listener: &TcpListener) -> io::Result<()> {
    let mut streams = Vec::new();
    for _ in 0..CROWD {
        let (stream, _) = accept(listener)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        streams.push(stream);
    }
    let mut bytes = [0; SAID];
    for _ in 0..ROUNDS {
        for stream in &mut streams {
            stream.read_exact(&mut bytes)?;
            stream.write_all(&bytes)?;
        }
    }
    for stream in &mut streams {
        while stream.read(&mut bytes)? > 0 {}
    }
    Ok(())
}

/// Accepts the next connection, which has to come in time.
fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    listener.set_nonblocking(true)?;
    let begun = std::time::Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, from)) => {
                stream.set_nonblocking(false)?;
                return Ok((stream, from));
            }
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}
