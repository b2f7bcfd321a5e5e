//! A word to the memory ahead of time.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache line of `place` before it is needed. Never waits, and changes nothing but the caches; where the
/// target has no such instruction, it does nothing.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// [`prefetch`] for every cache line of `values`.
#[inline(always)]
pub fn prefetch_all<T>(values: &[T]) {
    values.iter().step_by((LINE / size_of::<T>()).max(1)).for_each(prefetch);
}
