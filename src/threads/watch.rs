//! What ends a computation early.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked for: well under a human's patience, far above the cost of looking.
const POLL: Duration = Duration::from_millis(50);

/// Whether a computation is to end early.
pub(super) trait Stop: Sync {
    fn stopped(&self) -> bool;
}

/// A look that the calling thread takes every 50 ms, and tells the others.
pub(super) struct Watch<F> {
    caller: ThreadId,
    stop: AtomicBool,
    look: Mutex<(Instant, F)>,
}

impl<F: FnMut() -> bool + Send> Watch<F> {
    pub(super) fn new(poll: F) -> Self {
        Self { caller: thread::current().id(), stop: AtomicBool::new(false), look: Mutex::new((Instant::now(), poll)) }
    }
}

impl<F: FnMut() -> bool + Send> Stop for Watch<F> {
    fn stopped(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) || thread::current().id() != self.caller {
            return self.stop.load(Ordering::Relaxed);
        }
        // Never waits: one thread alone looks. A `poll` that computes comes here again.
        let Ok(mut look) = self.look.try_lock() else { return false };
        let (last, poll) = &mut *look;
        if last.elapsed() < POLL {
            return false;
        }
        let stopped = poll();
        *last = Instant::now();
        self.stop.store(stopped, Ordering::Relaxed);
        stopped
    }
}
