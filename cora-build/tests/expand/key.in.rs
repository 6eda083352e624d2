#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    number: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(reply = Self::reversed)]
struct Pair {
    from: u16,
    to: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Tunnel(Address, u32);
