//! The name of this machine, and the date.

use std::time::{SystemTime, UNIX_EPOCH};

/// This machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// Its processor, as the kernel calls it.
    pub(crate) core: String,
    /// Cores that this process may use.
    pub(crate) cores: usize,
    /// Bytes of memory that are there to take.
    pub(crate) memory: Option<u64>,
    /// The time of the run, in UTC.
    pub(crate) when: String,
}

impl Machine {
    /// As the kernel tells it.
    pub(crate) fn this() -> Self {
        let told = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let core = field(&told("/proc/cpuinfo"), "model name");
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self {
            core: core.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: field(&told("/proc/meminfo"), "MemAvailable").and_then(|text| kib(&text)),
            when: stamp(seconds),
        }
    }
}

/// `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value)
}

/// `1024 kB`, in bytes.
fn kib(text: &str) -> Option<u64> {
    Some(text.split(' ').next()?.parse::<u64>().ok()? * 1_024)
}

/// `2026-11-21 21:05 UTC`, of seconds since 1970.
fn stamp(seconds: u64) -> String {
    let (mut days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", days + 1, minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dates() {
        assert_eq!(stamp(0), "1970-01-01 00:00 UTC");
        assert_eq!(stamp(951_825_600), "2000-02-29 12:00 UTC");
        assert_eq!(stamp(1_795_294_799), "2026-11-21 20:59 UTC");
        assert_eq!(stamp(1_798_761_599), "2026-12-31 23:59 UTC");
    }

    #[test]
    fn the_kernel_is_understood() {
        let told = "processor\t: 0\nmodel name\t: AMD EPYC\nMemAvailable:   2048 kB\n";
        assert_eq!(field(told, "model name").as_deref(), Some("AMD EPYC"));
        assert_eq!(field(told, "MemAvailable").and_then(|text| kib(&text)), Some(2 << 20));
        assert_eq!(field(told, "name"), None);
        assert!(Machine::this().cores >= 1);
    }
}
