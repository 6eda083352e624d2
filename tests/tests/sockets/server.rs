//! A server of `get` and `set` in memcached's text protocol, as contrary as it may be: four threads
//! take datagrams from one socket, and each waits before and behind each operation.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use cora_tests::draw::Draw;
use cora_tests::namespace::Namespace;

const THREADS: u64 = 4;
/// Longest wait, in microseconds.
const WAIT: u64 = 1_500;

type Items = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// The server; it ends when it is dropped.
pub(crate) struct Server {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts it within this namespace.
    pub(crate) fn start(network: &Namespace, at: SocketAddr) -> Self {
        let (ends, items) = (Arc::new(AtomicBool::new(false)), Items::default());
        let open = move || (UdpSocket::bind(at).unwrap(), TcpListener::bind(at).unwrap());
        let (socket, listener) = network.within(open).join().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        listener.set_nonblocking(true).unwrap();
        let socket = Arc::new(socket);
        let mut threads: Vec<JoinHandle<()>> = (0..THREADS)
            .map(|seed| {
                let (socket, items, ends) = (socket.clone(), items.clone(), ends.clone());
                thread::spawn(move || datagrams(&socket, &items, &ends, &mut Draw(seed)))
            })
            .collect();
        let stops = ends.clone();
        threads.push(thread::spawn(move || connections(&listener, &items, &stops)));
        Self { ends, threads }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server panicked");
        }
    }
}

fn datagrams(socket: &UdpSocket, items: &Items, ends: &AtomicBool, draw: &mut Draw) {
    let mut bytes = [0; 2_048];
    while !ends.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
        let (head, text) = bytes[..length].split_at(8);
        let text = str::from_utf8(text).unwrap();
        wait(draw);
        let answer = execute(text, items);
        wait(draw);
        let _sent = socket.send_to(&[head, &answer].concat(), from);
    }
}

fn wait(draw: &mut Draw) {
    sleep(Duration::from_micros(draw.below(WAIT)));
}

/// Executes a command, and returns its answer.
fn execute(text: &str, items: &Items) -> Vec<u8> {
    let (line, data) = text.split_once("\r\n").unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    let mut items = items.lock().unwrap();
    match &words[..] {
        ["get", name] => items.get(*name).map_or_else(
            || b"END\r\n".to_vec(),
            |data| {
                let head = format!("VALUE {name} 0 {}\r\n", data.len());
                [head.as_bytes(), data, b"\r\nEND\r\n"].concat()
            },
        ),
        ["set", name, "0", "0", _] => {
            let data = data.strip_suffix("\r\n").unwrap();
            items.insert((*name).to_owned(), data.as_bytes().to_vec());
            b"STORED\r\n".to_vec()
        }
        _ => panic!("{text:?}"),
    }
}

fn connections(listener: &TcpListener, items: &Items, ends: &AtomicBool) {
    let mut number = 100;
    while !ends.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            sleep(Duration::from_millis(10));
            continue;
        };
        number += 1;
        let (items, mut draw) = (items.clone(), Draw(number));
        // It ends with its client.
        let _serving = thread::spawn(move || connection(stream, &items, &mut draw));
    }
}

fn connection(stream: TcpStream, items: &Items, draw: &mut Draw) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut text = String::new();
        stream.read_line(&mut text).ok().filter(|length| *length > 0)?;
        let length: usize = text.trim_end().rsplit(' ').next()?.parse().ok()?;
        let mut data = vec![0; length + 2];
        stream.read_exact(&mut data).ok()?;
        text.push_str(str::from_utf8(&data).ok()?);
        wait(draw);
        let answer = execute(&text, items);
        wait(draw);
        stream.get_mut().write_all(&answer).ok()?;
    }
}
