#[state(read_mostly)]
pub(crate) struct Backends {
    count: u8,
    addresses: [Address; 16],
}
