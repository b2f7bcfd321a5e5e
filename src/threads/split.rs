//! Fixed splits: work is cut at places that depend on its length alone, never on the number of threads.

use std::ops::Range;

/// `parts` ranges of nearly equal length.
#[must_use]
pub fn split(range: Range<usize>, parts: usize) -> Vec<Range<usize>> {
    parts_of(range, parts).collect()
}

/// [`split`], one after the other: there may be more of them than there is room for.
pub fn parts_of(range: Range<usize>, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let (each, more) = (range.len() / parts.max(1), range.len() % parts.max(1));
    let cut = move |i: usize| range.start + each * i + more.min(i);
    (0..parts).map(move |i| cut(i)..cut(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_range_and_differ_by_one_at_most() {
        assert_eq!(split(3..13, 4), [3..6, 6..9, 9..11, 11..13]);
        assert_eq!(split(0..2, 3), [0..1, 1..2, 2..2]);
        assert!(split(0..5, 0).is_empty());
    }
}
