//! Threads beside the calling one, and how they stay awake while there is work.

use super::affinity::Affinity;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread of a computation stays awake with nothing to do, before it sleeps: a scheduler may put a thread
/// that was asleep behind the one that woke it, and see only after several milliseconds that another CPU is idle.
pub(super) const WAKEFUL: Duration = Duration::from_millis(10);

/// Helpers of a pool up to which each is kept off the caller's CPU, which takes 3 us for one. Where there are more, one
/// that comes late is no loss.
const FEW: usize = 8;

/// Threads, and how many computations are at work in them.
pub(super) struct Pool {
    pub(super) threads: ThreadPool,
    affinities: Arc<[Affinity]>,
    working: AtomicUsize,
}

thread_local! {
    /// Whether this thread of a pool keeps a vigil.
    static VIGILANT: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    /// `None` when the system refuses to start so many threads.
    pub(super) fn start(threads: usize) -> Option<Self> {
        let name = |i| format!("prinax-{i}");
        let affinities: Arc<[Affinity]> = (0..threads).map(|_| Affinity::default()).collect();
        let of_helpers = affinities.clone();
        let begin = move |i: usize| of_helpers[i].is_mine();
        let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).start_handler(begin);
        Some(Self { threads: builder.build().ok()?, affinities, working: AtomicUsize::new(0) })
    }

    /// Has the helpers, where they are few, wake on CPUs other than the calling thread's.
    fn keep_off_this_cpu(&self) {
        if self.affinities.len() <= FEW {
            self.affinities.iter().for_each(Affinity::keep_off_this_cpu);
        }
    }

    /// Has `threads` threads keep a vigil. Each wakes two more, so that many are awake soon.
    fn wake(&'static self, threads: usize) {
        let Some(more) = threads.checked_sub(1) else { return };
        self.threads.spawn(move || {
            self.wake(more / 2);
            self.wake(more - more / 2);
            self.keep_vigil();
        });
    }

    /// Does whatever there is to do in the pool, and does not fall asleep in between while a computation is at work.
    fn keep_vigil(&self) {
        if let Some(affinity) = rayon::current_thread_index().and_then(|i| self.affinities.get(i)) {
            affinity.restore();
        }
        if VIGILANT.replace(true) {
            return; // met in a vigil, which goes on
        }
        let mut since = Instant::now();
        while self.working.load(Ordering::Relaxed) > 0 && since.elapsed() < WAKEFUL {
            match rayon::yield_now() {
                Some(Yield::Executed) => since = Instant::now(),
                _ => thread::yield_now(),
            }
        }
        VIGILANT.set(false);
    }
}

/// One computation that a pool helps with; counted off also where it panics.
pub(super) struct AtWork(&'static Pool);

impl AtWork {
    pub(super) fn begin(pool: &'static Pool) -> Self {
        if pool.working.fetch_add(1, Ordering::Relaxed) == 0 {
            pool.keep_off_this_cpu();
        }
        pool.wake(pool.threads.current_num_threads());
        Self(pool)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if self.0.working.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.affinities.iter().for_each(Affinity::restore); // of helpers that have not come
        }
    }
}
