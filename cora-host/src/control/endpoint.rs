//! An address where a live run is scraped: `/metrics`, and `/healthz`.
//!
//! A thread of its own answers, one connection after the other, so that the wire waits for nobody.
//! It asks the supervisor for a snapshot, which takes one between two looks at the wire. Requests
//! and answers are bounded in length and time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::RunError;
use crate::control::socket;
use crate::observe::live::Snapshot;
use crate::observe::metrics::{self, Format};
use crate::process::log::{self, Part};

/// How long a client may take for its request, and for the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the supervisor may take for a snapshot.
const SNAPSHOT_WITHIN: Duration = Duration::from_secs(2);
/// Most bytes of a request, and most headers.
const LONGEST: usize = 8192;
const MOST_HEADERS: usize = 64;
/// Bytes of a request that is too long which are read all the same.
const REST: u64 = 1 << 16;
/// After an error of the listener, until the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A path, open to its owner alone.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("a path stands behind `unix:`".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                "say ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464, or unix:PATH".into()
            }),
        }
    }
}

/// The supervisor's end: it gives snapshots.
#[derive(Debug)]
pub(crate) struct Endpoint {
    desk: Arc<Desk>,
    /// The file of a Unix socket, which ends with the run.
    _file: Option<socket::OwnFile>,
}

/// Where the thread asks for a snapshot, and gets it.
#[derive(Debug, Default)]
struct Desk {
    asked: Mutex<Asked>,
    given: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    wanted: Option<Wanted>,
    snapshot: Option<Snapshot>,
}

/// The wanted part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its state, at once.
    Health,
    /// Everything, with the values of its states.
    Metrics,
}

impl Endpoint {
    /// Listens at this address.
    ///
    /// # Errors
    /// If the address can't be had.
    pub(crate) fn listen(at: &Address) -> Result<Self, RunError> {
        let desk = Arc::new(Desk::default());
        let its = Arc::clone(&desk);
        let mut file = None;
        match at {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(|error| {
                    let cause = io::Error::other(format!("--metrics {address}: {error}"));
                    RunError::System { what: "an address for metrics", cause }
                })?;
                std::thread::spawn(move || serve(|| Ok(listener.accept()?.0), &its));
            }
            Address::Unix(path) => {
                let listener: UnixListener = socket::listen_alone(path)?;
                file = Some(socket::OwnFile::at(path));
                std::thread::spawn(move || serve(|| Ok(listener.accept()?.0), &its));
            }
        }
        Ok(Self { desk, _file: file })
    }

    /// The part that is wanted now.
    pub(crate) fn wants(&self) -> Option<Wanted> {
        // The thread holds the lock for moments only, and is not waited for.
        self.desk.asked.try_lock().ok()?.wanted
    }

    /// Gives a snapshot, if one is still wanted.
    pub(crate) fn give(&self, snapshot: Snapshot) {
        let Ok(mut asked) = self.desk.asked.try_lock() else { return };
        if asked.wanted.take().is_some() {
            asked.snapshot = Some(snapshot);
            self.desk.given.notify_all();
        }
    }
}

impl Desk {
    /// A snapshot, unless the supervisor takes too long.
    fn snapshot(&self, wanted: Wanted) -> Option<Snapshot> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = Asked { wanted: Some(wanted), snapshot: None };
        let waits = |asked: &mut Asked| asked.snapshot.is_none();
        let waited = self.given.wait_timeout_while(asked, SNAPSHOT_WITHIN, waits);
        let (mut asked, _) = waited.unwrap_or_else(PoisonError::into_inner);
        asked.snapshot.take()
    }
}

/// Answers one client after the other, until the process ends.
fn serve<S: Stream>(accept: impl Fn() -> io::Result<S>, desk: &Desk) {
    loop {
        match accept() {
            // Who does not read its answer is not waited for.
            Ok(mut stream) => drop(answer(&mut stream, desk)),
            Err(error) => {
                log::warn(Part::Control, format_args!("metrics: {error}"));
                std::thread::sleep(PAUSE);
            }
        }
    }
}

trait Stream: Read + Write {
    fn bound(&self, time: Duration) -> io::Result<()>;
}

impl Stream for std::net::TcpStream {
    fn bound(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Stream for std::os::unix::net::UnixStream {
    fn bound(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

fn answer(stream: &mut impl Stream, desk: &Desk) -> io::Result<()> {
    stream.bound(PATIENCE)?;
    let begun = Instant::now();
    let mut said = Vec::new();
    let answer = loop {
        let mut part = [0; 1024];
        match stream.read(&mut part)? {
            0 => return Ok(()),
            length => said.extend(&part[..length]),
        }
        match request(&said) {
            Ok(None) if said.len() > LONGEST || begun.elapsed() > PATIENCE => {
                break Answer::of(431, "the request is too long, or takes too long");
            }
            Ok(None) => {}
            Ok(Some(request)) => break respond(&request, desk),
            Err(why) => break Answer::of(400, why),
        }
    };
    stream.write_all(&answer.encode())?;
    stream.flush()?;
    if answer.status == 431 {
        // A connection that ends with something unread ends by a reset, which may overtake the
        // answer.
        let _rest = io::copy(&mut stream.take(REST), &mut io::sink())?;
    }
    Ok(())
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    method: String,
    path: String,
    format: Format,
}

/// The request in these bytes; `None` while it is not whole.
fn request(said: &[u8]) -> Result<Option<Request>, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed.parse(said).map_err(|_| "this is no request of HTTP/1.1")?;
    if status.is_partial() {
        return Ok(None);
    }
    let accepts_open = parsed.headers.iter().any(|header| {
        let wanted = b"application/openmetrics-text";
        header.name.eq_ignore_ascii_case("accept")
            && header.value.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted))
    });
    let path = parsed.path.unwrap_or_default();
    Ok(Some(Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.split('?').next().unwrap_or_default().to_owned(),
        format: if accepts_open { Format::OpenMetrics } else { Format::Prometheus },
    }))
}

fn respond(request: &Request, desk: &Desk) -> Answer {
    if request.method != "GET" {
        return Answer::of(405, "only GET is answered here");
    }
    let late = "the supervisor has not answered for 2 s";
    match request.path.as_str() {
        "/metrics" => match desk.snapshot(Wanted::Metrics) {
            None => Answer::of(503, late),
            Some(snapshot) => Answer {
                status: 200,
                media_type: request.format.media_type(),
                body: metrics::text(&snapshot, request.format),
            },
        },
        "/healthz" => match desk.snapshot(Wanted::Health) {
            None => Answer::of(503, late),
            Some(Snapshot { status, .. }) if status.works => Answer::of(200, "all halves work"),
            Some(_) => Answer::of(503, "a half starts, is away, or stands still"),
        },
        _ => Answer::of(404, "here are /metrics and /healthz"),
    }
}

struct Answer {
    status: u16,
    media_type: &'static str,
    body: String,
}

impl Answer {
    fn of(status: u16, line: &str) -> Self {
        Self { status, media_type: "text/plain; charset=utf-8", body: format!("{line}\n") }
    }

    fn encode(&self) -> Vec<u8> {
        let Self { status, media_type, body } = self;
        let name = match status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let length = body.len();
        format!(
            "HTTP/1.1 {status} {name}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;
    use crate::observe::live::tests::snapshot;

    #[test]
    fn addresses_are_read_or_refused_with_what_would_be_right() {
        assert_eq!("unix:/a/b".parse(), Ok(Address::Unix("/a/b".into())));
        assert!(matches!("[::1]:9464".parse(), Ok(Address::Tcp(_))));
        for wrong in ["", "9464", "localhost:1", "unix:"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    fn asked(address: SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut heard = String::new();
        stream.read_to_string(&mut heard).expect("it answers");
        heard
    }

    #[test]
    fn who_asks_gets_the_supervisors_snapshot_and_nobody_else_does() {
        // A free port, which stays free for the moment.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("one");
        let endpoint = Endpoint::listen(&Address::Tcp(address)).expect("it is free");
        assert!(Endpoint::listen(&Address::Tcp(address)).is_err(), "it is taken");
        assert_eq!(endpoint.wants(), None);
        let get = |path: &str, accept: &str| format!("GET {path} HTTP/1.1\r\n{accept}\r\n");
        let asks = std::thread::spawn(move || {
            let accept = "Accept: application/openmetrics-text;version=1.0.0\r\n";
            [
                asked(address, &get("/metrics", "")),
                asked(address, &get("/metrics?a=b", accept)),
                asked(address, &get("/healthz", "")),
                asked(address, &get("/", "")),
                asked(address, "PUT /metrics HTTP/1.1\r\n\r\n"),
                asked(address, "nonsense\r\n\r\n"),
                asked(address, &get("/metrics", &format!("A: {}\r\n", "x".repeat(2 * LONGEST)))),
            ]
        });
        while !asks.is_finished() {
            if endpoint.wants().is_some() {
                endpoint.give(snapshot());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let [plain, open, healthy, nothing, put, nonsense, long] = asks.join().expect("answers");
        assert!(plain.contains(" 200 OK\r\n") && plain.contains("cora_unsettled 1\n"), "{plain}");
        assert!(open.contains("openmetrics-text") && open.ends_with("# EOF\n"), "{open}");
        assert!(healthy.contains(" 200 OK"), "{healthy}");
        assert!(nothing.contains(" 404 ") && put.contains(" 405 "), "{nothing} {put}");
        assert!(nonsense.contains(" 400 ") && long.contains(" 431 "), "{nonsense} {long}");
    }

    #[test]
    fn a_supervisor_that_hangs_is_not_waited_for_for_ever() {
        let path = std::env::temp_dir().join(format!("cora-metrics-{}", std::process::id()));
        let endpoint = Endpoint::listen(&Address::Unix(path.clone())).expect("a path of its own");
        let mut stream = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").expect("it reads");
        let mut heard = String::new();
        stream.read_to_string(&mut heard).expect("it answers");
        assert!(heard.contains(" 503 ") && heard.contains("has not answered"), "{heard}");
        drop(endpoint);
        assert!(!path.exists());
    }
}
