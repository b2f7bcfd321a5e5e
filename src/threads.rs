//! prinax's own threads: pools that survive a fork, a team that splits work at fixed places, and a flag that stops it.
//!
//! rayon's global pool deadlocks in a forked child, whose threads do not exist. Pools here are leaked and found by
//! (process id, size), so a child makes its own and never touches its parent's.

#[cfg_attr(not(target_os = "linux"), path = "threads/elsewhere.rs")]
mod affinity;
mod door;
mod pool;
mod size;
mod split;
mod watch;

use crate::error::{Error, Result};
use door::Door;
use pool::{AtWork, Pool, WAKEFUL};
pub use size::{num_threads, set_num_threads};
pub use split::{parts_of, split};
use std::mem;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use watch::{Stop, Watch};

/// How long the calling thread sleeps at a time while the helpers finish, once it has waited awake for [`WAKEFUL`].
const NAP: Duration = Duration::from_millis(1);

/// The threads that share one computation, and what ends it early.
///
/// Work is always cut into the same pieces, and their results come back in the same order, so the number of threads
/// never shows in a result.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    threads: usize,
    /// The threads beside the calling one; none where that works alone.
    helpers: Option<&'static Pool>,
    stop: Option<&'a dyn Stop>,
}

impl Team<'_> {
    /// The calling thread alone, which nobody stops: for small work.
    #[must_use]
    pub fn solo() -> Self {
        Self { threads: 1, helpers: None, stop: None }
    }

    /// The calling thread alone, stopped by whatever stops this team.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { threads: 1, helpers: None, ..*self }
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
        let Some(pool) = self.helpers.filter(|_| items.len() > 1) else {
            return items.into_iter().map(job).collect();
        };
        let count = items.len();
        let queue = Mutex::new(items.into_iter().enumerate());
        let results = Mutex::new(Vec::with_capacity(count));
        // This thread begins at the front, the others at the back: in maps over the same data each meets what its
        // caches hold.
        let take = |front: bool| if front { locked(&queue).next() } else { locked(&queue).next_back() };
        let work = |front| {
            while let Some((at, item)) = take(front) {
                let result = job(item);
                locked(&results).push((at, result));
            }
        };
        let help = || work(false);
        let (call, door) = (Call::of(&help), Arc::new(Door::default()));
        let closing = Closing { team: self, door: &door };
        for _ in 0..(self.threads - 1).min(count - 1) {
            let door = door.clone();
            // SAFETY: made inside alone, and until nobody is inside `closing` keeps what is called where it is.
            #[allow(unsafe_code)]
            pool.threads.spawn(move || door.pass(|| unsafe { call.make() }));
        }
        work(true);
        drop(closing);
        door.raise();
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|&(at, _)| at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Closes the door and waits for the helpers inside, also where the calling thread's own work panics.
struct Closing<'a> {
    team: &'a Team<'a>,
    door: &'a Door,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.door.close();
        let since = Instant::now();
        while !self.door.is_deserted() {
            if since.elapsed() < WAKEFUL {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
            let _ = self.team.check(); // the helpers see what it saw
        }
    }
}

/// A call that other threads make, of what lies on this one's stack.
#[derive(Clone, Copy)]
struct Call {
    callee: *const (),
    make: unsafe fn(*const ()),
}

// SAFETY: `of` takes only what several threads may call.
#[allow(unsafe_code)]
unsafe impl Send for Call {}

#[allow(unsafe_code)]
impl Call {
    fn of<F: Fn() + Sync>(callee: &F) -> Self {
        // SAFETY: `make` passes what this was made of, an F, and its caller vouches that it is there.
        let make = |callee: *const ()| unsafe { (*callee.cast::<F>())() };
        Self { callee: ptr::from_ref(callee).cast(), make }
    }

    /// # Safety
    /// What is called must be there still.
    unsafe fn make(self) {
        // SAFETY: as asked of the caller.
        unsafe { (self.make)(self.callee) }
    }
}

/// No lock is held while anything can panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on the calling thread, with a team of `threads` threads that it is one of, and calls `poll` there every
/// 50 ms; once that says `true`, the team's next [`check`](Team::check) ends the work.
///
/// The calling thread is awake and its caches are warm; of a pool with the others it takes what help there is. A panic
/// in `work`, in whichever thread, is raised again here.
pub fn run<R: Send>(threads: usize, poll: impl FnMut() -> bool + Send, work: impl FnOnce(&Team) -> R + Send) -> R {
    let watch = Watch::new(poll);
    // None also where the system refuses to start threads.
    let helpers = if threads > 1 { pool(threads - 1) } else { None };
    let _at_work = helpers.map(AtWork::begin);
    work(&Team { threads: if helpers.is_some() { threads } else { 1 }, helpers, stop: Some(&watch) })
}

/// One pool of the list of all pools ever made, newest first.
struct Entry {
    process: u32,
    threads: usize,
    pool: OnceLock<Pool>,
    starting: Mutex<()>,
    next: *const Entry,
}

/// The pool of this process with `threads` threads; `None` when the system refuses to start them.
fn pool(threads: usize) -> Option<&'static Pool> {
    let entry = entry(std::process::id(), threads);
    if let Some(pool) = entry.pool.get() {
        return Some(pool);
    }
    // Whoever comes while another thread of this process starts the pool waits for it.
    let _alone = locked(&entry.starting);
    if let Some(pool) = entry.pool.get() {
        return Some(pool);
    }
    let pool = Pool::start(threads)?;
    Some(entry.pool.get_or_init(|| pool))
}

/// The entry of that pool, one for a process and a size.
///
/// No lock: a fork may happen while another thread looks a pool up, and the child would wait for that lock for ever.
/// The locks of the entries belong to one process each.
#[allow(unsafe_code)]
fn entry(process: u32, threads: usize) -> &'static Entry {
    static NEWEST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
    loop {
        let newest = NEWEST.load(Ordering::Acquire).cast_const();
        let mut at = newest;
        // SAFETY: entries are leaked, and were published with Release; what changes in them later is atomic or locked.
        while let Some(entry) = unsafe { at.as_ref() } {
            if entry.process == process && entry.threads == threads {
                return entry;
            }
            at = entry.next;
        }
        // An `Rc` may move while others hold its address. It is looked up again whether or not it came into the list:
        // another thread may have been first, with an entry for the same pool.
        let entry = Rc::new(Entry { process, threads, pool: OnceLock::new(), starting: Mutex::new(()), next: newest });
        let place = Rc::as_ptr(&entry).cast_mut();
        if NEWEST.compare_exchange(newest.cast_mut(), place, Ordering::Release, Ordering::Relaxed).is_ok() {
            mem::forget(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

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
    fn the_calling_thread_is_one_of_the_team() {
        let caller = thread::current().id();
        for threads in [1, 2, 4] {
            assert_eq!(run(threads, || false, |_| thread::current().id()), caller);
            let both = |i: usize| {
                thread::sleep(Duration::from_millis(5)); // so that nobody does everything
                (i, thread::current().id())
            };
            let ids = run(threads, || false, |team| team.map((0..4 * threads).collect(), both));
            assert!(ids.iter().any(|&(_, id)| id == caller));
            assert_eq!(threads > 1, ids.iter().any(|&(_, id)| id != caller));
        }
    }

    #[test]
    fn maps_inside_maps_come_to_an_end() {
        for threads in [2, 3, 8] {
            let inner = |team: &Team, i: usize| team.map((0..9).collect(), |j: usize| i * j).iter().sum::<usize>();
            let outer = |team: &Team| team.map((0..9).collect(), |i: usize| inner(team, i)).iter().sum::<usize>();
            assert_eq!(run(threads, || false, outer), 36 * 36);
        }
    }

    #[test]
    fn threads_that_meet_at_the_first_call_share_one_pool() {
        let size = 11; // of no other test
        let pools: Vec<usize> = thread::scope(|scope| {
            let found: Vec<_> = (0..8).map(|_| scope.spawn(|| ptr::from_ref(pool(size).unwrap()).addr())).collect();
            found.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(pools.iter().all(|&at| at == pools[0]));
    }

    #[test]
    fn nobody_waits_for_a_helper_that_does_not_come() {
        let size = 12; // of no other test
        let (arrived, gate) = (Arc::new(Barrier::new(size + 1)), Arc::new(Barrier::new(size + 1)));
        for _ in 0..size {
            let (arrived, gate) = (arrived.clone(), gate.clone());
            pool(size).unwrap().threads.spawn(move || {
                arrived.wait();
                gate.wait();
            });
        }
        arrived.wait();
        let squares = run(size + 1, || false, |team| team.map((0..100).collect(), |i: usize| i * i));
        gate.wait();
        assert_eq!(squares.len(), 100);
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_of_the_caller_ends_the_map() {
        let caller = thread::current().id();
        let job = |_| assert!(thread::current().id() != caller, "seven");
        run(2, || false, |team| team.map((0..100).collect(), job));
    }

    #[test]
    #[should_panic(expected = "eight")]
    fn a_panic_of_a_helper_reaches_the_caller() {
        let caller = thread::current().id();
        let job = |_| {
            thread::sleep(Duration::from_millis(5)); // so that the helper has its share
            assert!(thread::current().id() == caller, "eight");
        };
        run(2, || false, |team| team.map((0..100).collect(), job));
    }
}
