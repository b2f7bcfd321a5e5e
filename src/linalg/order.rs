//! The order of eigenvalues.

/// Indices in descending order of value; among equals the last comes first.
pub(super) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[j].total_cmp(&values[i]).then(j.cmp(&i)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_come_last_first() {
        assert_eq!(descending(&[1.0, 3.0, -2.0, 3.0]), [3, 1, 0, 2]);
        assert_eq!(descending(&[]), [0usize; 0]);
    }
}
