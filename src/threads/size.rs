//! How many threads a computation takes.

use crate::error::{Error, Result};
use std::env;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// Most threads of the pool, where the machine has no more CPUs: so many begin in a quarter of a second on two of them,
/// a thousand in several seconds, and a million never.
const MANY: usize = 256;

/// The size set by [`set_num_threads`]; 0 = not set.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

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

/// The size of prinax's pool: [`set_num_threads`], else `PRINAX_NUM_THREADS`, else `OMP_NUM_THREADS`, else the CPUs
/// this process may use (affinity and cgroup quota counted). What the environment asks for is cut to what
/// [`set_num_threads`] takes.
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
