//! A word to the memory ahead of time.

use super::aligned::CACHE_LINE;
use crate::matrix::{Element, MatrixView};

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

/// [`prefetch`] no nearer than the second cache: for lines that the first has no room for until their turn comes, and
/// that more of may be under way at a time.
#[inline(always)]
pub fn prefetch_second<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// [`prefetch`] for every cache line of `values`.
#[inline(always)]
pub fn prefetch_all<T>(values: &[T]) {
    values.iter().step_by(per_line::<T>()).for_each(prefetch);
}

/// [`prefetch_second`] for every cache line of `values`.
#[inline(always)]
pub fn prefetch_all_second<T>(values: &[T]) {
    values.iter().step_by(per_line::<T>()).for_each(prefetch_second);
}

/// The rows that are read next, sent for a few cache lines at a time while something else is computed: then they are
/// near when their turn comes, and the computation hides the way from main memory. Many lines at once would hold up its
/// own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'a, T> {
    rows: MatrixView<'a, T>,
    /// Of rows, the first that is not begun, and what is left of the one before.
    row: usize,
    rest: &'a [T],
    /// Lines sent for at a time.
    share: usize,
}

impl<'a, T: Element> Ahead<'a, T> {
    /// All of `rows` in so many calls of [`send`](Self::send).
    pub(super) fn new(rows: MatrixView<'a, T>, calls: usize) -> Self {
        let rows = if rows.has_contiguous_rows() { rows } else { rows.transpose() };
        // Rows without a gap between them are one.
        let rows = rows.as_slice().and_then(|all| MatrixView::new(all, 1, all.len()).ok()).unwrap_or(rows);
        let lines = rows.row(0).unwrap_or_default().len().div_ceil(per_line::<T>()) * rows.rows();
        Self { rows, row: 0, rest: &[], share: lines.div_ceil(calls.max(1)) }
    }

    /// Sends for the next share.
    #[inline(always)]
    pub(super) fn send(&mut self) {
        let mut lines = self.share;
        while lines > 0 {
            if self.rest.is_empty() {
                if self.row == self.rows.rows() {
                    return;
                }
                self.rest = self.rows.row(self.row).unwrap_or_default();
                self.row += 1;
            }
            let now;
            (now, self.rest) = self.rest.split_at(self.rest.len().min(lines * per_line::<T>()));
            prefetch_all(now);
            lines -= now.len().div_ceil(per_line::<T>());
        }
    }
}

/// Elements of a cache line.
const fn per_line<T>() -> usize {
    CACHE_LINE / size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many lines are sent for in each of `calls`.
    fn sent(rows: MatrixView<f64>, calls: usize) -> Vec<usize> {
        let mut ahead = Ahead::new(rows, calls);
        let lines = |ahead: &Ahead<f64>| {
            let after: usize = (ahead.row..ahead.rows.rows()).map(|_| ahead.rows.cols().div_ceil(8)).sum();
            ahead.rest.len().div_ceil(8) + after
        };
        let counts = (0..calls).map(|_| {
            let before = lines(&ahead);
            ahead.send();
            before - lines(&ahead)
        });
        counts.collect()
    }

    #[test]
    fn every_line_is_sent_for_once_and_evenly() {
        let data = vec![0.0; 600];
        let x = MatrixView::new(&data, 6, 100).unwrap(); // 75 lines without a gap
        assert_eq!(sent(x, 15), [5; 15]);
        assert_eq!(sent(x, 20), [vec![4; 18], vec![3, 0]].concat());
        assert_eq!(sent(x.columns_in(0..9), 4), [3; 4]);
        assert_eq!(sent(x.transpose(), 15), [5; 15]);
        assert_eq!(sent(MatrixView::empty(5), 2), [0, 0]);
        assert!(sent(x, 0).is_empty());
    }
}
