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
/// swapped out, within the limits of the control group and of the process.
fn free() -> Option<u128> {
    let read = |path| read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| available(&text));
    let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = groups.iter().find_map(|path| read(path)?.trim().parse().ok());
    let own = read("/proc/self/limits").zip(read("/proc/self/status")).and_then(|(l, s)| within_limits(&l, &s));
    system.into_iter().chain(group).chain(own).min()
}

/// `MemAvailable` and `SwapFree` of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u128> {
    Some(kilobytes(meminfo, "MemAvailable")? + kilobytes(meminfo, "SwapFree").unwrap_or(0))
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
