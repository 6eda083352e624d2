//! Programs that end in time, and services that end when dropped.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// A program's exit code and output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Returns standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs a program to its end, which has to come before `limit` is over.
///
/// # Errors
/// When it doesn't start, or doesn't end in time. An exit code other than 0 is no error.
pub fn run(command: &mut Command, limit: Duration) -> Result<Output> {
    let mut service = Service::start(command)?;
    let ended = service.wait(limit);
    let stdout = service.stdout.take();
    let read = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    if !ended {
        return Err(format!("after {limit:?} still running: {}", service.shown));
    }
    let code = service.code;
    let stdout = stdout.map(read).unwrap_or_default();
    Ok(Output { code, stdout, stderr: service.told() })
}

/// Runs a program that has to end well. Returns its standard output.
///
/// # Errors
/// As [`run`], and with its own words when it ends otherwise.
pub fn run_well(command: &mut Command, limit: Duration) -> Result<String> {
    let output = run(command, limit)?;
    if output.code == Some(0) {
        return Ok(output.text());
    }
    Err(format!("{command:?}: {}{}", output.text().trim(), output.stderr.trim()))
}

/// A program under way. Ended when dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    shown: String,
    code: Option<i32>,
    over: bool,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Service {
    /// Starts it without input.
    ///
    /// # Errors
    /// When it isn't there.
    pub fn start(command: &mut Command) -> Result<Self> {
        Self::start_with(command, Stdio::null())
    }

    /// Starts it with an input that stays open and empty while this lives: some programs end with
    /// their input.
    ///
    /// # Errors
    /// When it isn't there.
    pub fn start_listening(command: &mut Command) -> Result<Self> {
        Self::start_with(command, Stdio::piped())
    }

    fn start_with(command: &mut Command, stdin: Stdio) -> Result<Self> {
        let shown = format!("{command:?}");
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
        let (stdout, stderr) = (listen(child.stdout.take()), listen(child.stderr.take()));
        Ok(Self {
            child,
            shown,
            code: None,
            over: false,
            stdout: Some(stdout),
            stderr: Some(stderr),
        })
    }

    /// Starts it, and waits until it says this on standard error.
    ///
    /// # Errors
    /// When it isn't there, or ends before it says so.
    pub fn start_until(command: &mut Command, says: &str) -> Result<Self> {
        let shown = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
        let mut stderr = BufReader::new(child.stderr.take().ok_or("no standard error")?);
        let mut said = String::new();
        while !said.contains(says) {
            if stderr.read_line(&mut said).is_ok_and(|length| length > 0) {
                continue;
            }
            let _status = child.wait();
            return Err(format!("{shown} ended: {}", said.trim()));
        }
        let stderr = Some(listen(Some(stderr)));
        Ok(Self { child, shown, code: None, over: false, stdout: None, stderr })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if let Ok(Some(status)) = self.child.try_wait() {
            (self.over, self.code) = (true, status.code());
        }
        self.over
    }

    fn wait(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.has_ended() && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        self.over
    }

    /// Returns its standard error, once it has ended.
    fn told(&mut self) -> String {
        let bytes = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns its exit code and output as one sentence, once it has ended.
    pub fn last_words(&mut self) -> String {
        let (code, told) = (self.code, self.told());
        let stdout = self.stdout.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&stdout);
        format!("{} ended with {code:?}: {} {}", self.shown, said.trim(), told.trim())
    }

    /// Waits until it ends by itself. Returns its output.
    ///
    /// # Errors
    /// When it doesn't end in time.
    pub fn end(mut self, limit: Duration) -> Result<Output> {
        if !self.wait(limit) {
            return Err(format!("after {limit:?} still running: {}", self.shown));
        }
        let stdout = self.stdout.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        Ok(Output { code: self.code, stdout, stderr: self.told() })
    }

    /// Interrupts it, as ctrl-C does, and waits for its end. Returns its output.
    ///
    /// # Errors
    /// When it doesn't end in time.
    pub fn interrupt(self, limit: Duration) -> Result<Output> {
        if let Some(pid) = Pid::from_raw(self.id().cast_signed()) {
            // It may have ended already.
            let _sent = kill_process(pid, Signal::INT);
        }
        self.end(limit).map_err(|why| format!("interrupted: {why}"))
    }

    /// Interrupts a service that has to end in good order; an error calls it `name`.
    ///
    /// # Errors
    /// When it doesn't end in time, or with another code than 0.
    pub fn interrupt_well(self, name: &str, limit: Duration) -> Result<Output> {
        let output = self.interrupt(limit)?;
        match output.code {
            Some(0) => Ok(output),
            code => Err(format!("{name} ended with {code:?}: {}", output.stderr.trim())),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if !self.has_ended() {
            // The owner needs it no more.
            let _killed = self.child.kill();
            let _status = self.child.wait();
        }
    }
}

fn listen(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        // The bytes read before a failure count.
        let _read = stream.map(|mut stream| stream.read_to_end(&mut bytes));
        bytes
    })
}
