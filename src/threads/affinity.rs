//! The CPUs that a helper may run on: not the caller's, while it is woken.
//!
//! A scheduler that has seen few CPUs idle of late may wake a thread where it last ran, behind the thread that wakes
//! it, and find only milliseconds later that the CPU next to it has nothing to do. So the caller takes its own CPU from
//! those of a helper before it wakes it. The helper gets it back as soon as it runs, at the latest when the caller is
//! done.

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::{Mutex, OnceLock};

/// The CPUs of one helper.
///
/// What the system refuses is left undone: it would only have been faster. Nobody waits for the lock, whose holder may
/// have lost its CPU: what one leaves undone the other is doing, or the caller does when it is done.
#[derive(Default)]
pub(super) struct Affinity {
    helper: OnceLock<Pid>,
    /// All its CPUs, while one of them is taken away.
    all: Mutex<Option<CpuSet>>,
}

impl Affinity {
    /// Said by the helper as it begins: whose CPUs these are.
    pub(super) fn is_mine(&self) {
        self.helper.get_or_init(gettid);
    }

    /// Keeps the helper off the CPU of the calling thread, unless it has no other.
    pub(super) fn keep_off_this_cpu(&self) {
        let Some(&helper) = self.helper.get() else { return };
        let Ok(mut taken_from) = self.all.try_lock() else { return };
        let Some(all) = taken_from.or_else(|| sched_getaffinity(Some(helper)).ok()) else { return };
        let mut others = all;
        others.unset(sched_getcpu());
        if others.count() > 0 && sched_setaffinity(Some(helper), &others).is_ok() {
            *taken_from = Some(all);
        }
    }

    /// Gives back what was taken.
    pub(super) fn restore(&self) {
        let Ok(mut taken_from) = self.all.try_lock() else { return };
        if let Some(all) = taken_from.take() {
            let _ = sched_setaffinity(self.helper.get().copied(), &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    #[test]
    fn one_cpu_is_taken_and_given_back() {
        let (affinity, all) = (Affinity::default(), cpus());
        affinity.keep_off_this_cpu(); // nobody's yet
        assert_eq!(cpus(), all);
        affinity.is_mine();
        for _ in 0..3 {
            affinity.keep_off_this_cpu();
            assert_eq!(cpus().len(), (all.len() - 1).max(1), "never two, and never the last");
        }
        affinity.restore();
        assert_eq!(cpus(), all);
        affinity.restore();
        assert_eq!(cpus(), all);
    }
}
