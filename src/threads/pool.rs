//! Threads beside the calling one, and how they stay awake while there is work.

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread of a computation stays awake with nothing to do, before it sleeps: a scheduler may put a thread
/// that was asleep behind the one that woke it, and see only after several milliseconds that another CPU is idle.
pub(super) const WAKEFUL: Duration = Duration::from_millis(10);

/// Threads, and how many computations are at work in them.
pub(super) struct Pool {
    pub(super) threads: ThreadPool,
    working: AtomicUsize,
}

thread_local! {
    /// Whether this thread of a pool is at work, or keeps a vigil already.
    static OCCUPIED: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    /// `None` when the system refuses to start so many threads.
    pub(super) fn start(threads: usize) -> Option<Self> {
        let name = |i| format!("prinax-{i}");
        let threads = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?;
        Some(Self { threads, working: AtomicUsize::new(0) })
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
        if OCCUPIED.replace(true) {
            return; // met while waiting at work, which must go on as soon as it can
        }
        let mut since = Instant::now();
        while self.working.load(Ordering::Relaxed) > 0 && since.elapsed() < WAKEFUL {
            match rayon::yield_now() {
                Some(Yield::Executed) => since = Instant::now(),
                _ => thread::yield_now(),
            }
        }
        OCCUPIED.set(false);
    }
}

/// One computation that a pool helps with; counted off also where it panics.
pub(super) struct AtWork(&'static Pool);

impl AtWork {
    pub(super) fn begin(pool: &'static Pool) -> Self {
        pool.working.fetch_add(1, Ordering::Relaxed);
        pool.wake(pool.threads.current_num_threads());
        Self(pool)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread of a pool that helps with a map; counted off also where it panics.
pub(super) struct Helping<'a> {
    helpers: &'a AtomicUsize,
    occupied: bool,
}

impl<'a> Helping<'a> {
    pub(super) fn begin(helpers: &'a AtomicUsize) -> Self {
        Self { helpers, occupied: OCCUPIED.replace(true) }
    }
}

impl Drop for Helping<'_> {
    fn drop(&mut self) {
        OCCUPIED.set(self.occupied);
        self.helpers.fetch_sub(1, Ordering::Release);
    }
}
