//! With a state out of reach, a handler punts where it first reaches for it, and nowhere else.

use cora::__private::core::app::Handler;
use cora::__private::core::packet::Meta;
use cora::__private::core::state::{Place, Reach, Touched};
use cora::__private::core::verdict::Stop;
use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Far {
    count: u64,
}

#[state(singleton)]
#[derive(Default)]
struct Near {
    count: u64,
}

struct Nic;

impl Reach for Nic {
    const PLACES: Option<&'static [(&'static str, Place)]> =
        Some(&[("Far", Place::Host), ("Near", Place::Nic)]);
}

struct Host;

impl Reach for Host {
    const PLACES: Option<&'static [(&'static str, Place)]> = None;
}

#[flow_handler]
fn by_length(packet: &mut Packet, near: &mut Near, far: &mut Far) -> Verdict {
    near.count += 1;
    match packet.len() {
        60 => return Pass,
        61 => far.count += 1,
        62 if near.count > 100 => far.count += 1,
        63 => {
            for _ in 0..3 {
                near.count += 1;
                let add = |far: &mut Far| far.count += 1;
                add(far);
            }
        }
        _ => {
            if near.count == 0 {
                near.count = 1;
            } else if far.count > 1_000 {
                return Pass;
            }
        }
    }
    Transmit
}

#[flow_handler]
fn never_far(packet: &mut Packet, _near: &mut Near, far: &mut Far) -> Verdict {
    if packet.len() > 10_000 {
        far.count += 1;
    }
    Transmit
}

type Outcome = (Verdict, u64, u64);

fn run<R: Reach, H>(length: usize) -> Outcome
where
    H: for<'a> Handler<Parameters<'a> = (&'a mut Near, &'a mut Far)>,
{
    let mut frame = [0; 128];
    let meta = Meta { time: 0, now: 0, port: Port::INSIDE, ..Meta::default() };
    let mut packet = Packet::new(&mut frame[..length], meta);
    let (mut near, mut far) = (Near::default(), Far::default());
    let verdict = H::run::<R>(&mut packet, (&mut near, &mut far), &Touched::new(), &mut Outbox::none());
    (verdict, near.count, far.count)
}

fn main() {
    let punt: Verdict = Err(Stop::punt());
    assert_eq!(run::<Nic, __cora_by_length>(60), (Pass, 1, 0));
    assert_eq!(run::<Nic, __cora_by_length>(61), (punt, 1, 0));
    assert_eq!(run::<Nic, __cora_by_length>(62), (punt, 1, 0));
    assert_eq!(run::<Nic, __cora_by_length>(63), (punt, 2, 0));
    assert_eq!(run::<Nic, __cora_by_length>(64), (punt, 1, 0));
    assert_eq!(run::<Host, __cora_by_length>(61), (Transmit, 1, 1));
    assert_eq!(run::<Host, __cora_by_length>(62), (Transmit, 1, 0));
    assert_eq!(run::<Host, __cora_by_length>(63), (Transmit, 4, 3));
    assert_eq!(run::<Nic, __cora_never_far>(61), (Transmit, 0, 0));
    assert_eq!(__cora_by_length::NAME, "by_length");

    // The function itself reaches every state.
    let mut frame = [0; 61];
    let mut packet = Packet::new(&mut frame, Meta { time: 0, now: 0, port: Port::INSIDE, ..Meta::default() });
    let (mut near, mut far) = (Near::default(), Far::default());
    assert_eq!(by_length(&mut packet, &mut near, &mut far), Transmit);
    assert_eq!(never_far(&mut packet, &mut near, &mut far), Transmit);
    assert_eq!(far.count, 1);
}
