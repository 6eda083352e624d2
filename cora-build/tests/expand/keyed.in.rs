/// A connection that somebody inside opened.
#[state(key = FiveTuple, reply, capacity = 1 << 20, idle = "5m")]
#[derive(Debug)]
pub struct Connection {
    /// As a middlebox sees it.
    pub tcp: TcpState,
    packets: u64,
    r#type: [u8; 4],
}

/// Keys within a tenant, and a capacity that the program names.
#[state(key = FiveTuple, within = Tenant, capacity = limits::FLOWS * 2, idle = "5m")]
struct Talk {
    packets: u64,
}

/// Nothing to remember but the key.
#[state(key = cora::keys::SourceAddress, capacity = 1_000, idle = "1h30m")]
#[derive(Clone, Copy)]
struct Seen {}

/// A copy outlives the side that owns it.
#[state(key = FiveTuple, capacity = 10, idle = "5m", durable)]
struct Session {
    packets: u64,
}

/// Entries live as long as they say.
#[state(key = FiveTuple, capacity = 10, idle = "2h", idle_by = Self::idle, assured_by = Self::is_over)]
struct Exchange {
    is_over: bool,
}

/// An answer is of use for a while.
#[state(key = FiveTuple, capacity = 10, idle = "never", life = "30s")]
struct Answer {
    code: u8,
}

/// Handlers alone end what is leased.
#[state(key = FiveTuple, capacity = 10, idle = "never")]
struct Lease {
    port: u16,
}
