//! Rows in classes: which class each is of, and how large the classes are.

use crate::matrix::{Element, MatrixView};
use std::collections::HashMap;

/// The class of each row, numbered from 0.
#[derive(Clone, Debug)]
pub struct Classes {
    codes: Vec<u32>,
    sizes: Vec<usize>,
}

impl Classes {
    /// From one code a row, numbered from 0; a number that no row has is a class of size 0.
    #[must_use]
    pub fn new(codes: Vec<u32>) -> Self {
        let mut sizes = vec![0; codes.iter().max().map_or(0, |&c| c as usize + 1)];
        for &code in &codes {
            sizes[code as usize] += 1;
        }
        Self { codes, sizes }
    }

    /// Rows of finite numbers: those whose numbers are all equal share a class. Classes are numbered as they first
    /// appear.
    #[must_use]
    pub fn of_rows<T: Element>(x: MatrixView<T>) -> Self {
        let mut seen: HashMap<Box<[u64]>, u32> = HashMap::new();
        let mut codes = Vec::with_capacity(x.rows());
        let mut key = Vec::with_capacity(x.cols());
        x.each_row(|row| {
            key.clear();
            // 0 and -0 are equal numbers with different bits; adding 0 makes them one.
            key.extend(row.iter().map(|&x| (x.into() + 0.0).to_bits()));
            let known = seen.get(key.as_slice()).copied();
            codes.push(known.unwrap_or_else(|| {
                let next = u32::try_from(seen.len()).unwrap_or(u32::MAX);
                seen.insert(key.clone().into_boxed_slice(), next);
                next
            }));
        });
        Self::new(codes)
    }

    /// All `n` rows in one class.
    #[must_use]
    pub fn single(n: usize) -> Self {
        Self { codes: vec![0; n], sizes: vec![n] }
    }

    /// The class of each row.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The number of rows in each class.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_share_a_class_whatever_the_sign_of_their_zeros() {
        let data = [3.0, 0.0, 1.0, 2.0, 3.0, -0.0, 3.0, 0.5, 1.0, 2.0];
        let classes = Classes::of_rows(MatrixView::new(&data, 5, 2).unwrap());
        assert_eq!(classes.codes(), [0, 1, 0, 2, 1]);
        assert_eq!(classes.sizes(), [2, 2, 1]);
        assert!(Classes::of_rows(MatrixView::<f32>::empty(2)).sizes().is_empty());
    }
}
