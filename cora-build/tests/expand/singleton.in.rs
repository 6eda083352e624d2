#[state(singleton)]
#[derive(Default)]
struct PortPool {
    next: u16,
    free: [u16; 64],
}

#[state(singleton, durable)]
struct Blocks {
    next: u16,
    leased: [u32; 4096],
}
