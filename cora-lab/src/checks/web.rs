//! curl fetches one file, and all of a page's at once; every byte is checked.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use super::over;
use crate::Result;
use crate::program;
use crate::site::Site;
use crate::verdict::Observed;

const WEB: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of the one file.
const FILE: usize = 4_000_000;
/// Files that a page is made of.
const PARTS: usize = 30;

/// Returns the bytes of the file with this number.
fn content(number: usize) -> Vec<u8> {
    let length = if number == 0 { FILE } else { 1000 + number * number * 97 };
    (0..length).map(|at| ((at * 31 + at / 253) ^ number) as u8).collect()
}

pub(super) fn run(site: &Site) -> Result<Vec<Observed>> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let bound = site.servers.within(|| TcpListener::bind("[::]:8080"));
    let listener = bound.join().map_err(|_| "the web server panicked")?;
    let listener = listener.map_err(|error| format!("a web server: {error}"))?;
    let server = spawn(move || serve(&listener, &stopped));
    let seen = site.function.servers().into_iter().map(|server| from(site, server));
    let seen: Result<Vec<_>> = seen.collect();
    stop.store(true, Ordering::Relaxed);
    server.join().map_err(|_| "the web server panicked")?;
    Ok(seen?.concat())
}

fn from(site: &Site, server: IpAddr) -> Result<Vec<Observed>> {
    let place = std::net::SocketAddr::new(server, WEB);
    let fetch = |words: &[&str]| -> Command {
        let mut curl = site.clients.command("curl");
        curl.args(["--no-progress-meter", "--globoff", "--noproxy", "*"]).args(words);
        curl
    };
    let begun = Instant::now();
    let one = program::run(fetch(&[]).arg(format!("http://{place}/0")), PATIENCE)?;
    let took = begun.elapsed();
    let right = one.stdout == content(0);
    let result = if right {
        format!("{FILE} bytes, all right")
    } else {
        format!("{} bytes, not the right ones: {}", one.stdout.len(), one.stderr.trim())
    };
    let mut parts = fetch(&["--parallel", "--parallel-immediate", "--parallel-max", "30"]);
    let urls = (1..=PARTS).map(|number| format!("http://{place}/{number}"));
    // Each part has an output file of its own.
    let room = std::env::temp_dir().join(format!("{}-parts", site.clients.name()));
    std::fs::create_dir_all(&room).map_err(|error| format!("{}: {error}", room.display()))?;
    for (url, number) in urls.zip(1..) {
        let file: usize = number;
        parts.arg("--output").arg(room.join(file.to_string())).arg(url);
    }
    let all = program::run(&mut parts, PATIENCE)?;
    let is_right = |number: &usize| {
        std::fs::read(room.join(number.to_string())).is_ok_and(|bytes| bytes == content(*number))
    };
    let right = (1..=PARTS).filter(is_right).count();
    let _removed = std::fs::remove_dir_all(&room);
    let said = all.stderr.lines().next().unwrap_or_default();
    Ok(vec![
        Observed::compared(over("curl: one file", server), result),
        Observed::told(over("curl: one file, ms", server), format!("{}", took.as_millis())),
        Observed::compared(
            over("curl: thirty files at once", server),
            if said.is_empty() {
                format!("{right} of {PARTS} right")
            } else {
                format!("{right} of {PARTS} right: {said}")
            },
        ),
    ])
}

fn serve(listener: &TcpListener, stop: &AtomicBool) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            // The client sees a transfer that fails.
            Ok((stream, _)) => drop(spawn(move || answer(stream))),
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

/// Answers `GET /number` by that file, and waits until the client closes: the side that closes
/// first is part of the comparison.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") && request.len() < 1 << 14 {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => request.extend(&buffer[..length]),
        }
    }
    let text = String::from_utf8_lossy(&request);
    let path = text.split(' ').nth(1).unwrap_or_default();
    let content = content(path.trim_start_matches('/').parse().unwrap_or(1));
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", content.len())?;
    stream.write_all(&content)?;
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
