//! prinax's own threads: pools that survive a fork, a team that splits work at fixed places, and a flag that stops it.
//!
//! rayon's global pool deadlocks in a forked child, whose threads do not exist. Pools here are leaked and found by
//! (process id, size), so a child makes its own and never touches its parent's.

use crate::error::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::cell::Cell;
use std::env;
use std::num::NonZero;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked for: well under a human's patience, far above the cost of looking.
const POLL: Duration = Duration::from_millis(50);

/// How long a thread of a computation stays awake with nothing to do, before it sleeps: a scheduler may put a thread that
/// was asleep behind the one that woke it, and see only after several milliseconds that another CPU is idle.
const WAKEFUL: Duration = Duration::from_millis(10);

/// Most threads of the pool, where the machine has no more CPUs: so many begin in a quarter of a second on two of them, a
/// thousand in several seconds, and a million never.
const MANY: usize = 256;

/// The size set by [`set_num_threads`]; 0 = not set.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// The threads that share one computation, and what ends it early.
///
/// Work is always cut into the same pieces, and their results come back in the same order, so the number of threads
/// never shows in a result.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    threads: usize,
    stop: Option<&'a dyn Stop>,
}

/// Whether a computation is to end early.
trait Stop: Sync {
    fn stopped(&self) -> bool;
}

/// A flag that a waiting thread raises.
impl Stop for AtomicBool {
    fn stopped(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// A look that the computing thread itself takes, every 50 ms.
struct Look<F>(Mutex<(Instant, F)>);

impl<F: FnMut() -> bool + Send> Stop for Look<F> {
    fn stopped(&self) -> bool {
        // Never waits: one thread alone computes, and looks.
        let Ok(mut look) = self.0.try_lock() else { return false };
        let (last, poll) = &mut *look;
        if last.elapsed() < POLL {
            return false;
        }
        let stopped = poll();
        if !stopped {
            *last = Instant::now();
        }
        stopped
    }
}

impl Team<'_> {
    /// The calling thread alone, which nobody stops: for small work.
    #[must_use]
    pub fn solo() -> Self {
        Self { threads: 1, stop: None }
    }

    /// The calling thread alone, stopped by whatever stops this team.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { threads: 1, ..*self }
    }

    /// How many threads work at once. Only for deciding how much scratch to keep, never for how to split.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Called between pieces of work of a few milliseconds.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once the `poll` of [`run`] has asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.stop.is_some_and(Stop::stopped) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// `job` of every item, results in the order of the items. Pieces should last at least some 10 us each.
    pub fn map<I: Send, R: Send>(&self, items: Vec<I>, job: impl Fn(I) -> R + Sync + Send) -> Vec<R> {
        if self.threads == 1 || items.len() <= 1 {
            return items.into_iter().map(job).collect();
        }
        let count = items.len();
        let queue = Mutex::new(items.into_iter().enumerate());
        let results = Mutex::new(Vec::with_capacity(count));
        // This thread begins at the front, the others at the back: in maps over the same data each meets what its caches
        // hold.
        let take = |front: bool| if front { locked(&queue).next() } else { locked(&queue).next_back() };
        let work = |front| {
            while let Some((at, item)) = take(front) {
                let result = job(item);
                locked(&results).push((at, result));
            }
        };
        rayon::scope(|scope| {
            for _ in 1..self.threads.min(count) {
                scope.spawn(|_| work(false));
            }
            work(true);
            let since = Instant::now(); // awake: see WAKEFUL
            while locked(&results).len() < count && since.elapsed() < WAKEFUL {
                thread::yield_now();
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|&(at, _)| at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// No lock is held while anything can panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the size of prinax's pool for this process; `None` returns to the environment's choice.
///
/// # Errors
/// [`Error::Value`] for more than 256, or than the CPUs that this process may use where those are more.
pub fn set_num_threads(threads: Option<NonZero<usize>>) -> Result<()> {
    if let Some(wanted) = threads.filter(|n| n.get() != at_most(n.get())) {
        return Err(Error::value("n", wanted, format!("at most {} threads here", at_most(wanted.get()))));
    }
    CHOSEN.store(threads.map_or(0, NonZero::get), Ordering::Relaxed);
    Ok(())
}

/// The size of prinax's pool: [`set_num_threads`], else `PRINAX_NUM_THREADS`, else `OMP_NUM_THREADS`, else the CPUs this
/// process may use (affinity and cgroup quota counted). What the environment asks for is cut to what [`set_num_threads`] takes.
#[must_use]
pub fn num_threads() -> usize {
    match CHOSEN.load(Ordering::Relaxed) {
        0 => from_environment("PRINAX_NUM_THREADS")
            .or_else(|| from_environment("OMP_NUM_THREADS"))
            .map_or_else(cpus, at_most),
        chosen => chosen,
    }
}

/// The CPUs that this process may use.
fn cpus() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// As many threads, or the most that a pool has.
fn at_most(threads: usize) -> usize {
    if threads <= MANY { threads } else { threads.min(cpus().max(MANY)) }
}

/// A positive number in `name`; OpenMP allows a list by nesting level, of which the first counts.
fn from_environment(name: &str) -> Option<usize> {
    env::var(name).ok()?.split(',').next()?.trim().parse().ok().filter(|&n| n > 0)
}

/// Runs `work` with a team of `threads` threads, and calls `poll` on the calling thread every 50 ms; once that says
/// `true`, the team's next [`check`](Team::check) ends the work.
///
/// One thread is the calling one: its core is awake and its caches warm, and callers on several threads never wait for
/// each other. More are those of a pool, while the calling thread waits. A panic in `work` is raised again here.
pub fn run<R: Send>(threads: usize, poll: impl FnMut() -> bool + Send, work: impl FnOnce(&Team) -> R + Send) -> R {
    let pool = if threads > 1 { pool(threads) } else { None };
    match pool {
        Some(pool) => share(pool, poll, work),
        // Also where the system refuses to start threads.
        None => work(&Team { threads: 1, stop: Some(&Look(Mutex::new((Instant::now(), poll)))) }),
    }
}

/// Runs `work` in the pool, where [`Team::map`] spreads over its threads.
fn share<R: Send>(pool: &'static Pool, mut poll: impl FnMut() -> bool, work: impl FnOnce(&Team) -> R + Send) -> R {
    let stop = AtomicBool::new(false);
    let team = Team { threads: pool.threads.current_num_threads(), stop: Some(&stop) };
    let (send, receive) = sync_channel(1);
    let result = pool.threads.in_place_scope(|scope| {
        scope.spawn(move |_| {
            let _ = send.send(pool.attended(|| work(&team)));
        });
        loop {
            match receive.recv_timeout(POLL) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Timeout) if poll() => stop.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None, // `work` panicked: the scope raises it again
            }
        }
    });
    match result {
        Some(result) => result,
        None => unreachable!("the scope has raised the panic that closed the channel"),
    }
}

/// One pool of the list of all pools ever made, newest first.
struct Entry {
    process: u32,
    threads: usize,
    pool: Pool,
    next: *const Entry,
}

/// Threads, and how many computations are at work in them.
struct Pool {
    threads: ThreadPool,
    working: AtomicUsize,
}

thread_local! {
    /// Whether this thread is at work, or keeps a vigil already.
    static OCCUPIED: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    /// `work` on this thread of the pool, while the others stay awake.
    fn attended<R>(&'static self, work: impl FnOnce() -> R) -> R {
        let _at_work = AtWork::begin(self);
        self.wake(self.threads.current_num_threads() - 1);
        work()
    }

    /// Has `threads` of the others keep a vigil. Each wakes two more, so that many are awake soon.
    fn wake(&'static self, threads: usize) {
        let Some(more) = threads.checked_sub(1) else { return };
        rayon::spawn(move || {
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

/// One computation at work on this thread; counted off also where it panics.
struct AtWork {
    pool: &'static Pool,
    occupied: bool,
}

impl AtWork {
    fn begin(pool: &'static Pool) -> Self {
        pool.working.fetch_add(1, Ordering::Relaxed);
        Self { pool, occupied: OCCUPIED.replace(true) }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.pool.working.fetch_sub(1, Ordering::Relaxed);
        OCCUPIED.set(self.occupied);
    }
}

/// The pool of this process with `threads` threads; `None` when the system refuses to start them.
///
/// No lock: a fork may happen while another thread looks a pool up, and the child would wait for that lock for ever.
#[allow(unsafe_code)]
fn pool(threads: usize) -> Option<&'static Pool> {
    static NEWEST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
    let process = std::process::id();
    let mut at = NEWEST.load(Ordering::Acquire).cast_const();
    let newest = at;
    // SAFETY: entries are leaked and, atomics apart, never changed after `store`, which published them with Release.
    while let Some(entry) = unsafe { at.as_ref() } {
        if entry.process == process && entry.threads == threads {
            return Some(&entry.pool);
        }
        at = entry.next;
    }
    let name = |i| format!("prinax-{i}");
    let started = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?;
    let pool = Pool { threads: started, working: AtomicUsize::new(0) };
    let entry: &'static mut Entry = Box::leak(Box::new(Entry { process, threads, pool, next: newest }));
    // Two threads at once: one entry drops out of the list, its pool still works for the caller that holds it.
    NEWEST.store(entry, Ordering::Release);
    Some(&entry.pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_for_any_team() {
        let squares: Vec<usize> = (0..100).map(|i| i * i).collect();
        for threads in [1, 2, 5] {
            let got = run(threads, || false, |team| team.map((0..100).collect(), |i: usize| i * i));
            assert_eq!(got, squares);
        }
    }

    #[test]
    fn a_team_works_until_it_is_asked_to_stop() {
        for threads in [1, 2] {
            let mut polls = 0;
            let poll = || {
                polls += 1;
                polls == 3
            };
            let endless = |team: &Team| -> Result<()> {
                loop {
                    team.check()?;
                }
            };
            assert_eq!(run(threads, poll, endless), Err(Error::Interrupted));
            assert_eq!(polls, 3, "{threads} threads");
        }
    }

    #[test]
    fn one_thread_is_the_calling_one() {
        let caller = std::thread::current().id();
        assert_eq!(run(1, || false, |_| std::thread::current().id()), caller);
        assert_ne!(run(2, || false, |_| std::thread::current().id()), caller);
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_in_the_pool_reaches_the_caller() {
        run(2, || false, |_| panic!("seven"));
    }
}
