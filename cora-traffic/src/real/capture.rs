//! A packet socket, read by its own thread.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket};

use super::network::setup;
use crate::TrafficError;
use crate::namespace::Namespace;
use crate::pcap::Writer;

/// A running capture.
#[derive(Debug)]
pub(super) struct Capture {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<Result<(), TrafficError>>,
}

impl Capture {
    /// Starts to capture the frames of the namespace's one interface, both ways.
    pub(super) fn start(namespace: &Namespace, path: &Path) -> Result<Self, TrafficError> {
        let socket = namespace.visit(open)??;
        let writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let reader = thread::spawn(move || copy(&socket, writer, &told));
        Ok(Self { stop, reader })
    }

    /// Takes the frames that are still queued, and ends.
    pub(super) fn finish(self) -> Result<(), TrafficError> {
        self.stop.store(true, Ordering::Relaxed);
        self.reader.join().unwrap_or_else(|_| Err(setup("capturing", "the thread panicked")))
    }
}

/// Opens a socket that sees every frame. It is bound to no interface: the loopback is down, so the
/// wire is the only one.
fn open() -> Result<OwnedFd, TrafficError> {
    let failed = |error: Errno| setup("opening a packet socket", &error.to_string());
    let every_protocol = u16::to_be(0x0003); // ETH_P_ALL, in network order
    let protocol = NonZeroU32::new(u32::from(every_protocol)).map(Protocol::from_raw);
    let socket = socket(AddressFamily::PACKET, SocketType::RAW, protocol).map_err(failed)?;
    sockopt::set_socket_recv_buffer_size_force(&socket, 32 << 20).map_err(failed)?;
    let patience = Some(Duration::from_millis(100));
    sockopt::set_socket_timeout(&socket, Timeout::Recv, patience).map_err(failed)?;
    Ok(socket)
}

fn copy(
    socket: &OwnedFd,
    mut writer: Writer<BufWriter<File>>,
    stop: &AtomicBool,
) -> Result<(), TrafficError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match recv(socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, length)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                writer.write(now.as_nanos() as u64, &buffer[..length])?;
            }
            // No frame for a tenth of a second, or the interface went down.
            Err(Errno::AGAIN | Errno::NETDOWN) if stop.load(Ordering::Relaxed) => break,
            Err(Errno::AGAIN | Errno::NETDOWN | Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
    writer.finish()?;
    Ok(())
}
