#[state(commutative)]
pub struct Talkers {
    bytes: Sum,
    longest: Max,
    top: TopK<SourceAddress, 16>,
}
