//! Whether the machine has room for a large buffer, asked before it is taken: a system that promises more than it has
//! ends the process later, without a word.

use crate::error::{Error, Result};
use crate::matrix::Element;
use std::fs::read_to_string;

/// Buffers below this are simply taken: asking costs some 50 us.
const LARGE: u128 = 1 << 26;

/// Refuses `len` values of T for `what` where the machine cannot hold them.
///
/// # Errors
/// [`Error::Memory`] with the bytes needed.
pub fn check<T: Element>(len: usize, what: &'static str) -> Result<()> {
    check_bytes(len as u128 * size_of::<T>() as u128, what)
}

/// [`check`], in bytes.
///
/// # Errors
/// [`Error::Memory`].
pub fn check_bytes(bytes: u128, what: &'static str) -> Result<()> {
    let refused = bytes > isize::MAX.unsigned_abs() as u128 || (bytes >= LARGE && free().is_some_and(|f| bytes > f));
    if refused { Err(Error::Memory { what, bytes }) } else { Ok(()) }
}

/// Bytes that may still be taken, as far as the system tells: on Linux free and reclaimable memory with what can be
/// swapped out, within the limit of the control group.
fn free() -> Option<u128> {
    let system = read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = limits.iter().find_map(|path| read_to_string(path).ok()?.trim().parse().ok());
    system.into_iter().chain(group).min()
}

/// `MemAvailable` and `SwapFree` of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u128> {
    let kilobytes = |name: &str| -> Option<u128> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    Some(1024 * (kilobytes("MemAvailable")? + kilobytes("SwapFree").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_holds_is_refused_with_its_size() {
        let error = check::<f64>(usize::MAX / 16, "the kernel matrix").unwrap_err();
        assert!(matches!(error, Error::Memory { what: "the kernel matrix", .. }));
        assert_eq!(check::<f32>(1000, "a few"), Ok(()));
    }

    #[test]
    fn the_system_is_understood() {
        let text = "MemTotal:       32000000 kB\nMemFree: 5 kB\nMemAvailable:   23719008 kB\nSwapFree:  2 kB\n";
        assert_eq!(available(text), Some(1024 * 23_719_010));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }
}
