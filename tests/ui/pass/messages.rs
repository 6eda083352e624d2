//! Handlers of messages are ordinary functions, which tests call.

use cora::prelude::*;
use cora::testing;

#[message(udp)]
#[derive(PartialEq, Debug)]
enum Ask {
    Add { #[key] name: Name, by: u32 },
    Read(#[key] Name),
}

type Name = Bytes<20>;

#[message]
#[derive(PartialEq, Debug)]
struct Changed {
    #[key]
    name: Name,
    to: u32,
}

#[message(udp)]
#[derive(PartialEq, Debug)]
struct Is {
    value: u32,
}

#[message(udp, parse)]
#[derive(PartialEq, Debug)]
struct Line {
    text: Bytes<80>,
}

impl Parse for Line {
    fn parse(datagram: &[u8]) -> Result<Self, Reason> {
        Ok(Self { text: Bytes::of(datagram.strip_suffix(b"\n").ok_or(Malformed)?)? })
    }
}

impl Compose for Line {
    fn compose(&self, out: &mut Text<'_, '_>) {
        out.put(&self.text).put(b" ").number(self.text.len() as u64).put(b"\n");
    }
}

#[state(key = Name, capacity = 10, idle = "5m")]
struct Value {
    value: u32,
}

#[state(key = u64, within = Name, capacity = 10, idle = "5m")]
struct Part {
    value: u32,
}

#[flow_handler]
fn ask(
    ask: Ask,
    envelope: &Envelope,
    values: &mut Table<Value>,
    parts: &mut Table<Part>,
    answers: &mut Outbox<Is>,
    changes: &mut Outbox<Changed>,
) -> Verdict {
    let _ = (envelope.now(), envelope.asker());
    let _ = parts.get(&7);
    match ask {
        Ask::Add { name, by } => {
            let value = values.get_or_insert(name, Value { value: 0 })?;
            value.value += by;
            changes.send(Changed { name, to: value.value })?;
        }
        Ask::Read(name) => {
            let value = values.get(&name).map_or(0, |value| value.value);
            answers.reply(Is { value })?;
        }
    }
    Done
}

#[flow_handler]
fn changed(changed: Changed) -> Verdict {
    if changed.to == 0 { Drop(NotAllowed) } else { Done }
}

#[flow_handler]
fn line(line: Line, lines: &mut Outbox<Line>) -> Verdict {
    lines.reply(line)?;
    Pass
}

fn main() {
    let mut values = testing::table();
    let mut parts = testing::table();
    let name = Name::of(b"hits").unwrap();
    let mut frame = testing::udp(([10, 0, 0, 1], 5_000), ([192, 0, 2, 1], 7_000), b"");
    let envelope = Envelope::of(&Packet::new(&mut frame, Meta::default()));
    let mut out = testing::outbox();
    out.begin(&envelope);
    let (mut answers, mut changes) = (out.messages::<Is>(), out.messages::<Changed>());
    let mut call = |it| ask(it, &envelope, &mut values, &mut parts, &mut answers, &mut changes);
    assert_eq!(call(Ask::Add { name, by: 3 }), Done);
    assert_eq!(call(Ask::Read(name)), Done);
    let sent = testing::sent(&out);
    assert_eq!(sent.len(), 2);
    assert_eq!(testing::message::<Changed>(&sent[0]), Some(Changed { name, to: 3 }));
    assert_eq!(testing::message::<Is>(&sent[1]), Some(Is { value: 3 }));
    assert_eq!(changed(Changed { name, to: 0 }), Drop(NotAllowed));
}
