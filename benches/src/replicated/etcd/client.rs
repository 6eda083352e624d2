//! A client of one member: one connection of HTTP/2, and as many tasks as puts are outstanding.

use std::io::{Error, Result};
use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{SendRequest, handshake};
use http::{HeaderMap, Request};
use tokio::net::TcpStream;

use super::super::load::put;
use super::super::outstanding::Took;
use super::proto;

const PUT: &str = "/etcdserverpb.KV/Put";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";

/// A connection to a member.
#[derive(Clone, Debug)]
pub(super) struct Client {
    member: SocketAddrV4,
    sender: SendRequest<Bytes>,
}

impl Client {
    /// Connects to this member. The caller's runtime carries the connection.
    pub(super) async fn of(member: SocketAddrV4) -> Result<Self> {
        let stream = TcpStream::connect(member).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(stream).await.map_err(Error::other)?;
        drop(tokio::spawn(connection));
        Ok(Self { member, sender })
    }

    /// Whether this member leads.
    pub(super) async fn leads(&self) -> Result<bool> {
        Ok(proto::leads(&self.call(STATUS, &[]).await?))
    }

    /// Puts for so long, with so many outstanding.
    pub(super) async fn run(&self, window: usize, time: Duration, next: &mut u64) -> Result<Took> {
        let begun = Instant::now();
        let clients: Vec<_> = (0..window as u64)
            .map(|client| {
                let numbers = (*next + client..).step_by(window);
                tokio::spawn(self.clone().puts(numbers, begun + time))
            })
            .collect();
        let mut took = Took::default();
        for client in clients {
            took.join(client.await.map_err(Error::other)??);
        }
        *next += took.count() + window as u64;
        Ok(took)
    }

    async fn puts(self, numbers: impl Iterator<Item = u64>, end: Instant) -> Result<Took> {
        let mut took = Took::default();
        for number in numbers {
            let (name, value) = put(number);
            let asked = Instant::now();
            if asked >= end && took.count() > 0 {
                break;
            }
            drop(self.call(PUT, &proto::put(&name, &value)).await?);
            took.add(asked.elapsed());
        }
        Ok(took)
    }

    /// Calls a procedure; returns the answer.
    async fn call(&self, path: &str, message: &[u8]) -> Result<Vec<u8>> {
        let request = Request::post(format!("http://{}{path}", self.member))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(());
        let mut sender = self.sender.clone().ready().await.map_err(Error::other)?;
        let sent = sender.send_request(request.map_err(Error::other)?, false);
        let (response, mut stream) = sent.map_err(Error::other)?;
        let message = Bytes::from(proto::framed(message));
        stream.send_data(message, true).map_err(Error::other)?;
        let response = response.await.map_err(Error::other)?;
        check(response.headers())?;
        let (mut body, mut bytes) = (response.into_body(), Vec::new());
        while let Some(data) = body.data().await {
            let data = data.map_err(Error::other)?;
            bytes.extend_from_slice(&data);
            body.flow_control().release_capacity(data.len()).map_err(Error::other)?;
        }
        if let Some(trailers) = body.trailers().await.map_err(Error::other)? {
            check(&trailers)?;
        }
        let answer = proto::unframed(&bytes).map(<[u8]>::to_vec);
        answer.ok_or_else(|| Error::other("etcd's answer is not whole"))
    }
}

/// An error, if there is one in these headers.
fn check(headers: &HeaderMap) -> Result<()> {
    let of = |name| headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
    match of("grpc-status") {
        "" | "0" => Ok(()),
        status => Err(Error::other(format!("etcd: {} (gRPC {status})", of("grpc-message")))),
    }
}
