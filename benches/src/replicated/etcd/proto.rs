//! What is said to etcd, in its own form: messages of protobuf behind the five bytes that gRPC has
//! in front of them.

use super::super::load::{NAME, VALUE};

/// Bytes in front of a message: whether it is compressed, and its length.
const HEAD: usize = 5;
/// The kinds of fields: a number, and bytes.
const NUMBER: u64 = 0;
const BYTES: u64 = 2;

/// Puts in front of a message what gRPC wants there.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// The message behind that, if it is whole.
pub(super) fn unframed(bytes: &[u8]) -> Option<&[u8]> {
    let (head, message) = bytes.split_first_chunk::<HEAD>()?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    (head[0] == 0 && message.len() == length).then_some(message)
}

/// `etcdserverpb.PutRequest`: key (1) and value (2).
pub(super) fn put(name: &[u8; NAME], value: &[u8; VALUE]) -> Vec<u8> {
    let mut out = Vec::with_capacity(NAME + VALUE + 5);
    for (field, bytes) in [(1, &name[..]), (2, &value[..])] {
        write(&mut out, field << 3 | BYTES);
        write(&mut out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }
    out
}

/// Whether `etcdserverpb.StatusResponse` says that the asked member leads: the leader (4) is
/// the member (2) of the header (1).
pub(super) fn leads(status: &[u8]) -> bool {
    let bytes_of = |message, field| fields(message).find(|it| it.0 == field).map(|it| it.2);
    let number_of = |message, field| fields(message).find(|it| it.0 == field).map(|it| it.1);
    let member = bytes_of(status, 1).and_then(|header| number_of(header, 2));
    let leader = number_of(status, 4);
    leader.is_some_and(|leader| leader != 0) && leader == member
}

fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The fields of a message until one that is broken, or of another kind: each with its number, and
/// the number or the bytes in it.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, u64, &[u8])> {
    std::iter::from_fn(move || {
        let key = read(&mut rest)?;
        let number = read(&mut rest)?;
        match key & 7 {
            NUMBER => Some((key >> 3, number, &[][..])),
            BYTES => {
                let (bytes, behind) = rest.split_at_checked(usize::try_from(number).ok()?)?;
                rest = behind;
                Some((key >> 3, 0, bytes))
            }
            _ => None,
        }
    })
}

fn read(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_is_what_protobuf_makes_of_it() {
        let put = put(&[b'n'; NAME], &[b'v'; VALUE]);
        let expected = [&[0x0a, 32][..], &[b'n'; NAME], &[0x12, 0x80, 0x01], &[b'v'; VALUE]];
        assert_eq!(put, expected.concat());
        let framed = framed(&put);
        assert_eq!(framed[..5], [0, 0, 0, 0, 165]);
        assert_eq!(unframed(&framed), Some(&put[..]));
        assert_eq!(unframed(&framed[..20]), None);
        assert_eq!(unframed(&[1, 0, 0, 0, 0]), None, "compressed");
        assert_eq!(unframed(&[]), None);
    }

    #[test]
    fn a_leader_is_the_member_that_says_so() {
        let status = |member: u64, leader: u64| {
            let mut header = vec![0x08, 0x07, 0x10];
            write(&mut header, member);
            let mut out = [&[0x0a, header.len() as u8][..], &header, &[0x12, 1, b'3']].concat();
            out.extend_from_slice(&[0x18, 0x80, 0x01, 0x20]);
            write(&mut out, leader);
            out
        };
        let id = 0x8e9e_05c5_2164_694d;
        assert!(leads(&status(id, id)));
        assert!(!leads(&status(id, id + 1)));
        assert!(!leads(&status(0, 0)), "there is none");
        assert!(!leads(&status(id, id)[..9]));
        assert!(!leads(&[0xff; 30]));
        assert!(!leads(&[]));
    }
}
