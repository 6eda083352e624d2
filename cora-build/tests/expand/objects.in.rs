#[state(objects, bytes = "32 MiB", capacity = 1 << 10, idle = "1h")]
struct Node {
    next: Id<Node>,
    level: u8,
}

#[flow_handler]
fn read(ask: Ask, nodes: &Objects<Node>) -> Verdict {
    nodes.get(ask.id);
    Done
}
