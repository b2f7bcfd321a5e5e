//! Whether the machine has room for a large buffer, asked before it is taken: a system that promises more than it has
//! ends the process later, without a word.

use crate::error::{Error, Result};
use crate::matrix::Element;
use std::fs::read_to_string;

/// Buffers below this are simply taken: asking costs some 100 us.
const LARGE: u128 = 1 << 26;

/// Refuses `len` values of T for `what` where the machine cannot hold them.
///
/// # Errors
/// [`Error::Memory`] with the bytes needed.
pub fn check<T: Element>(len: usize, what: &'static str) -> Result<()> {
    check_bytes(len as u128 * size_of::<T>() as u128, what)
}

/// [`check`] for `count` matrices of rows x cols.
///
/// # Errors
/// [`Error::Memory`].
pub fn check_matrices<T: Element>(count: usize, (rows, cols): (usize, usize), what: &'static str) -> Result<()> {
    let values = (count as u128).saturating_mul(rows as u128).saturating_mul(cols as u128);
    check_bytes(values.saturating_mul(size_of::<T>() as u128), what)
}

/// [`check`], in bytes.
///
/// # Errors
/// [`Error::Memory`].
#[inline]
pub fn check_bytes(bytes: u128, what: &'static str) -> Result<()> {
    if bytes < LARGE { Ok(()) } else { check_large(bytes, what) }
}

#[cold]
fn check_large(bytes: u128, what: &'static str) -> Result<()> {
    let refused = bytes > isize::MAX.unsigned_abs() as u128 || free().is_some_and(|f| bytes > f);
    if refused { Err(Error::Memory { what, bytes }) } else { Ok(()) }
}

/// Bytes that may still be taken, as far as the system tells: on Linux free and reclaimable memory with what can be
/// swapped out, within what the limits of the control group and of the process leave.
fn free() -> Option<u128> {
    let read = |path: &str| read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| available(&text));
    let group = GROUPS.iter().find_map(|group| group.left(read));
    let own = read("/proc/self/limits").zip(read("/proc/self/status")).and_then(|(l, s)| within_limits(&l, &s));
    system.into_iter().chain(group).chain(own).min()
}

/// `MemAvailable` and `SwapFree` of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u128> {
    Some(kilobytes(meminfo, "MemAvailable")? + kilobytes(meminfo, "SwapFree").unwrap_or(0))
}

/// Where a control group, as its own members see it, tells what it may take and has taken.
struct Group {
    limit: &'static str,
    used: &'static str,
    stat: &'static str,
    /// The lines of `stat` with what the system takes back when memory is asked for: pages of files, and its own
    /// caches.
    reclaimable: &'static [&'static str],
}

/// Of version 2, of version 1.
const GROUPS: [Group; 2] = [
    Group {
        limit: "/sys/fs/cgroup/memory.max",
        used: "/sys/fs/cgroup/memory.current",
        stat: "/sys/fs/cgroup/memory.stat",
        reclaimable: &["inactive_file ", "active_file ", "slab_reclaimable "],
    },
    Group {
        limit: "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        used: "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        stat: "/sys/fs/cgroup/memory/memory.stat",
        reclaimable: &["total_inactive_file ", "total_active_file "],
    },
];

impl Group {
    /// The limit less what is used and cannot be taken back; the limit itself where its use is not told, nothing
    /// without one.
    fn left(&self, read: impl Fn(&str) -> Option<String>) -> Option<u128> {
        let number = |text: &str| text.trim().parse::<u128>().ok();
        let limit = number(&read(self.limit)?)?; // "max" is no number
        let Some(used) = read(self.used).as_deref().and_then(number) else { return Some(limit) };
        let stat = read(self.stat).unwrap_or_default();
        let entry = |name: &str| stat.lines().find_map(|line| number(line.strip_prefix(name)?));
        let reclaimable: u128 = self.reclaimable.iter().filter_map(|name| entry(name)).sum();
        Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
    }
}

/// What `ulimit -v` and `ulimit -d` leave to the process of these `limits` and this `status`.
fn within_limits(limits: &str, status: &str) -> Option<u128> {
    let left = |(limit, used)| {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let most: u128 = line.split_whitespace().next()?.parse().ok()?; // "unlimited" is no number
        Some(most.saturating_sub(kilobytes(status, used)?))
    };
    [("Max address space", "VmSize"), ("Max data size", "VmData")].into_iter().filter_map(left).min()
}

/// The entry `name` of a file of /proc, given in kB, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u128> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u128>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_holds_is_refused_with_its_size() {
        let error = check::<f64>(usize::MAX / 16, "the kernel matrix").unwrap_err();
        assert!(matches!(error, Error::Memory { what: "the kernel matrix", .. }));
        assert_eq!(check::<f32>(1000, "a few"), Ok(()));
        assert!(check_matrices::<f64>(3, (usize::MAX, usize::MAX), "three").is_err());
        assert_eq!(check_matrices::<f64>(3, (usize::MAX, 0), "nothing"), Ok(()));
    }

    #[test]
    fn the_system_is_understood() {
        let text = "MemTotal:       32000000 kB\nMemFree: 5 kB\nMemAvailable:   23719008 kB\nSwapFree:  2 kB\n";
        assert_eq!(available(text), Some(1024 * 23_719_010));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }

    #[test]
    fn what_a_control_group_has_taken_is_not_left() {
        let stat = "anon 300\nfile 90\nactive_file 30\ninactive_file 50\nslab 9\nslab_reclaimable 7\n\
                    total_active_file 20\ntotal_inactive_file 40\n";
        let left = |group: &Group, limit: Option<&str>, used: Option<&str>, stat: Option<&str>| {
            let files = [(group.limit, limit), (group.used, used), (group.stat, stat)];
            group.left(|path| files.iter().find(|(name, _)| *name == path)?.1.map(String::from))
        };
        let [new, old] = &GROUPS;
        assert_eq!(left(new, Some("1000\n"), Some("400\n"), Some(stat)), Some(1000 - (400 - 50 - 30 - 7)));
        assert_eq!(left(old, Some("1000\n"), Some("400\n"), Some(stat)), Some(1000 - (400 - 40 - 20)));
        assert_eq!(left(new, Some("1000\n"), Some("400\n"), None), Some(600));
        assert_eq!(left(new, Some("1000\n"), None, None), Some(1000));
        assert_eq!(left(new, Some("300\n"), Some("400\n"), Some("anon 400\n")), Some(0));
        assert_eq!(left(new, Some("max\n"), Some("400\n"), Some(stat)), None);
        assert_eq!(left(new, None, None, None), None);
    }

    #[test]
    fn limits_of_the_process_are_understood() {
        let status = "VmPeak:  9 kB\nVmSize:  30 kB\nVmData:  2 kB\n";
        let limits = |space: &str, data: &str| {
            format!("Max data size    {data}   unlimited   bytes\nMax address space    {space}  unlimited  bytes\n")
        };
        assert_eq!(within_limits(&limits("unlimited", "unlimited"), status), None);
        assert_eq!(within_limits(&limits("40960", "unlimited"), status), Some(10 * 1024));
        assert_eq!(within_limits(&limits("40960", "4096"), status), Some(2 * 1024));
        assert_eq!(within_limits(&limits("10", "unlimited"), status), Some(0));
    }
}
