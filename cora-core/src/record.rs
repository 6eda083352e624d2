//! Records of ended entries, in the terms of IPFIX (RFC 7011). A program makes them element by
//! element.
//!
//! A program implements [`FlowRecord`] for a state declared `recorded`. The host half calls it once
//! per entry: when the entry expired, when a packet removed it, or at the end of the run.

use crate::key::{Address, FiveTuple, protocol};
use crate::plain::Plain as _;
use crate::state::table::lived::Holds as _;
use crate::state::table::scope::Scope as _;
use crate::state::table::{Ending, RawOf};
use crate::state::{Keyed, Malformed, Table};

/// A keyed state with entries that become records when they end: `#[state(recorded)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is `recorded`, and nothing makes its records",
    label = "has no record",
    note = "write `impl FlowRecord for {Self}`"
)]
pub trait FlowRecord: Keyed {
    /// Writes the record of this entry. Entries with the same elements in the same order share a
    /// template. One that writes nothing has no record.
    fn record(&self, key: &Self::Key, end: End, record: &mut Record<'_>);
}

/// Why an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was unused for its idle time.
    Idle,
    /// A packet removed it.
    Removed,
    /// It was evicted for another one from a full table.
    Evicted,
    /// Its life was over: it was inserted so long ago.
    LifeOver,
    /// It was alive at the end of the run.
    RunOver,
}

/// The event that made an entry's record due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The entry expired.
    Expired,
    /// A packet removed it.
    Removed,
    /// It was evicted for another one.
    Evicted,
    /// The run ended at this time (ns). The entry may have expired unnoticed.
    Left(u64),
}

/// An information element: its number, its registry, and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element {
    /// The registry of the number: 0 for IANA's, otherwise a private enterprise number.
    pub enterprise: u32,
    /// The number, below 2¹⁵.
    pub number: u16,
    /// Bytes of a value, at most 16; for a text, the number that means any.
    pub width: u16,
}

/// The width of an element whose values have any length (RFC 7011, 7).
const VARIABLE: u16 = u16::MAX;

/// Maximum length of a text, in bytes: its length takes one byte (RFC 7011, 7).
const LONGEST_TEXT: usize = 254;

/// The enterprise number of [RFC 5103](https://www.rfc-editor.org/rfc/rfc5103): the same element,
/// for the reverse direction.
const REVERSE: u32 = 29305;

impl Element {
    /// An element of IANA's registry.
    #[must_use]
    pub const fn iana(number: u16, width: u16) -> Self {
        Self { enterprise: 0, number, width }
    }

    /// An element of IANA's registry that is a text.
    #[must_use]
    pub const fn iana_text(number: u16) -> Self {
        Self::iana(number, VARIABLE)
    }

    /// Whether its values have any length.
    #[must_use]
    pub const fn is_text(self) -> bool {
        self.width == VARIABLE
    }

    /// The same element for the reverse direction (RFC 5103).
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self { enterprise: REVERSE, ..self }
    }
}

/// Elements of [IANA's registry](https://www.iana.org/assignments/ipfix) by their names there.
pub mod element {
    use super::Element;

    macro_rules! elements {
        ($($name:ident = $number:literal, $width:literal, $known_as:literal, $means:literal;)*) => {
            $(
                #[doc = concat!("`", $known_as, "`", $means)]
                pub const $name: Element = Element::iana($number, $width);
            )*
            /// All of these, each with its name in the registry.
            pub const ALL: &[(&str, Element)] = &[$(($known_as, $name),)*];
        };
    }

    elements! {
        PACKETS = 2, 8, "packetDeltaCount", ": packets since the flow's last record.";
        OCTETS = 1, 8, "octetDeltaCount", ": bytes of IP packets since the flow's last record.";
        LAYER2_OCTETS = 352, 8, "layer2OctetDeltaCount", ": bytes of frames since the flow's last record.";
        SHORTEST_FRAME = 422, 8, "minimumLayer2TotalLength", ": bytes of the shortest frame.";
        LONGEST_FRAME = 423, 8, "maximumLayer2TotalLength", ": bytes of the longest frame.";
        PROTOCOL = 4, 1, "protocolIdentifier", ".";
        TCP_FLAGS = 6, 2, "tcpControlBits", ": all flags that were seen.";
        SOURCE_PORT = 7, 2, "sourceTransportPort", ".";
        DESTINATION_PORT = 11, 2, "destinationTransportPort", ".";
        SOURCE_IPV4 = 8, 4, "sourceIPv4Address", ".";
        DESTINATION_IPV4 = 12, 4, "destinationIPv4Address", ".";
        SOURCE_IPV6 = 27, 16, "sourceIPv6Address", ".";
        DESTINATION_IPV6 = 28, 16, "destinationIPv6Address", ".";
        ICMP_TYPE_CODE_IPV4 = 32, 2, "icmpTypeCodeIPv4", ": type and code of ICMP, the type in the upper byte.";
        ICMP_TYPE_CODE_IPV6 = 139, 2, "icmpTypeCodeIPv6", ": likewise for IPv6.";
        LEAST_TTL = 52, 1, "minimumTTL", ".";
        GREATEST_TTL = 53, 1, "maximumTTL", ".";
        END_REASON = 136, 1, "flowEndReason", ": 1 idle, 2 active time-out, 3 its end was seen, 4 forced, 5 no room.";
        START_MILLISECONDS = 152, 8, "flowStartMilliseconds", ", since 1970.";
        END_MILLISECONDS = 153, 8, "flowEndMilliseconds", ", since 1970.";
        POST_NAT_SOURCE_IPV4 = 225, 4, "postNATSourceIPv4Address", ".";
        POST_NAT_SOURCE_PORT = 227, 2, "postNAPTSourceTransportPort", ".";
        NAT_EVENT = 230, 1, "natEvent", ": 1 a translation is made, 2 it ended.";
        APPLICATION_NAME = 96, 65535, "applicationName", ": a text.";
        USER_NAME = 371, 65535, "userName", ": a text.";
        HTTP_REQUEST_HOST = 460, 65535, "httpRequestHost", ": a text, the host that was asked for.";
    }
}

/// Receives a record, element by element.
pub trait Fields {
    /// An element and its value, big-endian, of the element's width.
    fn field(&mut self, element: Element, value: &[u8]);

    /// The record is complete, and another one of the same entry follows.
    fn another(&mut self);
}

/// A record under construction.
pub struct Record<'a>(&'a mut dyn Fields);

impl core::fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Record")
    }
}

impl<'a> Record<'a> {
    /// A record with its elements sent to `to`.
    pub fn new(to: &'a mut dyn Fields) -> Self {
        Self(to)
    }

    /// A number. If it is wider than the element, the lower bytes are written.
    pub fn number(&mut self, element: Element, value: impl Into<u64>) {
        let bytes = u128::from(value.into()).to_be_bytes();
        let width = usize::from(element.width).min(bytes.len());
        self.0.field(element, bytes.get(bytes.len() - width..).unwrap_or_default());
    }

    /// A text, such as a name that a packet carried: at most 254 bytes of it. The element is a text
    /// as well ([`Element::iana_text`]).
    pub fn text(&mut self, element: Element, text: &[u8]) {
        let element = Element { width: VARIABLE, ..element };
        self.0.field(element, text.get(..LONGEST_TEXT).unwrap_or(text));
    }

    /// Ends this record, and begins another one of the same entry. A record without elements is
    /// left out.
    pub fn another(&mut self) {
        self.0.another();
    }

    /// A time (ns since 1970) in milliseconds.
    pub fn milliseconds(&mut self, element: Element, ns: u64) {
        self.number(element, ns / 1_000_000);
    }

    /// Addresses, ports and protocol. The elements are IPv4's if both addresses are IPv4, otherwise
    /// IPv6's. ICMP has port 0 instead of its identifier.
    pub fn five_tuple(&mut self, key: &FiveTuple) {
        let FiveTuple { source, destination, source_port, destination_port, protocol } = *key;
        if let (Some(source), Some(destination)) = (source.as_v4(), destination.as_v4()) {
            self.0.field(element::SOURCE_IPV4, &source);
            self.0.field(element::DESTINATION_IPV4, &destination);
        } else {
            self.0.field(element::SOURCE_IPV6, &source.octets());
            self.0.field(element::DESTINATION_IPV6, &destination.octets());
        }
        let is_icmp = matches!(protocol, protocol::ICMP | protocol::ICMPV6);
        let port = |port: u16| if is_icmp { 0 } else { port };
        self.number(element::SOURCE_PORT, port(source_port));
        self.number(element::DESTINATION_PORT, port(destination_port));
        self.number(element::PROTOCOL, protocol);
    }

    /// Type and code of an ICMP message, the type in the upper byte, for a flow with this key.
    /// Nothing for other protocols.
    pub fn icmp(&mut self, key: &FiveTuple, type_and_code: u16) {
        match key.protocol {
            protocol::ICMP => self.number(element::ICMP_TYPE_CODE_IPV4, type_and_code),
            protocol::ICMPV6 => self.number(element::ICMP_TYPE_CODE_IPV6, type_and_code),
            _ => {}
        }
    }

    /// An IPv4 address; nothing for IPv6.
    pub fn ipv4(&mut self, element: Element, address: &Address) {
        if let Some(address) = address.as_v4() {
            self.0.field(element, &address);
        }
    }
}

/// A table of a recorded state, for generated code.
pub trait Recorded {
    /// Reports the entries that ended since the last call.
    fn tell_ended(&mut self, tell: &mut dyn FnMut(Ending<'_>));

    /// Reports the record of an encoded entry. Returns the time when a packet last found it (ns).
    fn tell_record(piece: &[u8], when: When, to: &mut dyn Fields) -> Result<u64, Malformed>;
}

impl<S: FlowRecord> Recorded for Table<S> {
    fn tell_ended(&mut self, tell: &mut dyn FnMut(Ending<'_>)) {
        self.raw.tell_ended(tell);
    }

    fn tell_record(piece: &[u8], when: When, to: &mut dyn Fields) -> Result<u64, Malformed> {
        let entry = RawOf::<S>::decode(piece).ok_or(Malformed)?;
        let idle = RawOf::<S>::idle_of(Self::SHAPE.idle, &entry.value);
        // Where both times end at once, the idle time counts.
        let is_idle = entry.used.saturating_add(idle) <= entry.value.dies();
        let expired = if is_idle { End::Idle } else { End::LifeOver };
        let end = match when {
            When::Expired => expired,
            When::Removed => End::Removed,
            When::Evicted => End::Evicted,
            When::Left(now) if RawOf::<S>::has_ended(Self::SHAPE.idle, &entry, now) => expired,
            When::Left(_) => End::RunOver,
        };
        entry.value.value().record(S::Scope::key(&entry.key), end, &mut Record::new(to));
        Ok(entry.used)
    }
}
