//! The page sizes of the states' memory: the requested ones, and those of this kernel.

/// A kind of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Pages {
    /// The machine's small pages, of 4 KiB on most
    #[value(name = "4k")]
    Small,
    /// Transparent huge pages; small ones where the kernel has none
    #[default]
    #[value(name = "thp")]
    Transparent,
    /// Huge pages that were set aside before (hugetlb); none, no run
    #[value(name = "hugetlb")]
    Huge,
}

/// The kernel's figures about reserved huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HugePages {
    /// Size in bytes, for a mapping that requests no specific size.
    pub(crate) page: usize,
    total: usize,
    free: usize,
    /// Free pages that are already promised to a mapping.
    reserved: usize,
}

impl Pages {
    /// The kind that a request for this one results in.
    #[must_use]
    pub fn in_force(self) -> Self {
        if self == Self::Transparent && !has_transparent() { Self::Small } else { self }
    }

    /// The kind for the NIC half as a process of this machine: it requests transparent ones.
    pub(crate) fn of_nic(self) -> Self {
        if self == Self::Small { self } else { Self::Transparent.in_force() }
    }

    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "4k",
            Self::Transparent => "thp",
            Self::Huge => "hugetlb",
        }
    }
}

/// Whether the kernel grants transparent huge pages on request.
fn has_transparent() -> bool {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    setting.is_ok_and(|setting| is_on(&setting))
}

/// The setting lists all words, with the one in force in brackets.
fn is_on(setting: &str) -> bool {
    setting.contains("[always]") || setting.contains("[madvise]")
}

impl HugePages {
    /// The kernel's current figures; `None` if it has no huge pages.
    pub(crate) fn now() -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn read(told: &str) -> Option<Self> {
        let number = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<usize>().ok()
        };
        Some(Self {
            page: number("Hugepagesize")?
                .checked_mul(1024)
                .filter(|page| page.is_power_of_two())?,
            total: number("HugePages_Total")?,
            free: number("HugePages_Free")?,
            reserved: number("HugePages_Rsvd")?,
        })
    }

    /// Number of pages for this many bytes.
    pub(crate) const fn of(self, bytes: usize) -> usize {
        bytes.div_ceil(self.page)
    }

    /// Number of pages that a mapping could still get.
    pub(crate) const fn available(self) -> usize {
        self.free.saturating_sub(self.reserved)
    }

    /// The value of `vm.nr_hugepages` that provides `needed` more.
    pub(crate) const fn setting(self, needed: usize) -> usize {
        self.total - self.available() + needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_tells() {
        let told = "MemTotal:  16 kB\nHugePages_Total:      12\nHugePages_Free:        7\n\
            HugePages_Rsvd:        3\nHugePages_Surp:        0\nHugepagesize:       2048 kB\n";
        let pages = HugePages::read(told).unwrap();
        assert_eq!(pages, HugePages { page: 2 << 20, total: 12, free: 7, reserved: 3 });
        assert_eq!([1, 2 << 20, (2 << 20) + 1].map(|bytes| pages.of(bytes)), [1, 1, 2]);
        // Five are in use and three promised; four are left.
        assert_eq!((pages.available(), pages.setting(4), pages.setting(10)), (4, 12, 18));
        assert_eq!(HugePages::read("MemTotal: 16 kB\n"), None);
    }

    #[test]
    fn knows_whether_transparent_ones_are_on() {
        assert!(is_on("[always] madvise never\n") && is_on("always [madvise] never\n"));
        assert!(!is_on("always madvise [never]\n"));
    }
}
