#[state(singleton)]
#[derive(Default)]
struct PortPool {
    next: u16,
    free: [u16; 64],
}
