//! gamma as a number with an exponent of its own.

use crate::error::{Error, Result};
use crate::power;

/// Beyond this exponent a rate is 0 or infinite in any unit of the data.
const FARTHEST: i32 = 10_000;

/// A positive number that may lie outside the range of `f64`: gamma of data at 1e200 or 1e-200.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    value: f64,
    exponent: i32,
}

impl Rate {
    /// `value`, which must be finite and not negative.
    ///
    /// # Errors
    /// [`Error::Value`] otherwise.
    pub fn new(value: f64) -> Result<Self> {
        if value.is_finite() && value >= 0.0 {
            return Ok(Self { value, exponent: 0 });
        }
        Err(Error::value("gamma", value, "a finite number that is not negative, None, \"scale\" or \"median\""))
    }

    /// `value` 2^exponent, both already known to be in range.
    pub(super) fn of(value: f64, exponent: i32) -> Self {
        Self { value, exponent }
    }

    /// `value` 2^exponent, as [`Rate::parts`] gave them.
    ///
    /// # Errors
    /// [`Error::Value`] as for [`Rate::new`].
    pub fn in_parts(value: f64, exponent: i32) -> Result<Self> {
        Ok(Self { exponent: exponent.clamp(-FARTHEST, FARTHEST), ..Self::new(value)? })
    }

    /// The number v and the exponent e of v 2^e.
    #[must_use]
    pub fn parts(self) -> (f64, i32) {
        (self.value, self.exponent)
    }

    /// The plain number: 0 or infinity where `f64` does not reach.
    #[must_use]
    pub fn value(self) -> f64 {
        power::scale(self.value, self.exponent)
    }

    /// The rate times 2^exponent: that of distances measured in units of 2^exponent.
    #[must_use]
    pub fn in_units(self, exponent: i32) -> f64 {
        power::scale(self.value, self.exponent + exponent)
    }

    /// The smallest e with 2^e above the rate.
    pub(super) fn exponent(self) -> i32 {
        power::exponent(self.value) + self.exponent
    }

    /// The rate times x 2^exponent: infinite only where all of it is.
    pub(super) fn times(self, x: f64, exponent: i32) -> f64 {
        let own = power::exponent(self.value);
        power::scale(power::scale(self.value, -own) * x, self.exponent + own + exponent)
    }

    /// (rate x 2^exponent)^degree for a positive x and a degree below 1, whatever the base.
    pub(super) fn root(self, x: f64, exponent: i32, degree: f64) -> f64 {
        let fraction = |x: f64| power::scale(x, -power::exponent(x));
        let whole = self.exponent() + exponent + power::exponent(x);
        let logarithm = f64::from(whole) * degree;
        #[allow(clippy::cast_possible_truncation)] // a few thousand at most
        let steps = logarithm.floor() as i32;
        power::scale((fraction(self.value) * fraction(x)).powf(degree) * (logarithm - logarithm.floor()).exp2(), steps)
    }

    /// The rate times the squared length of a row, computed in units of 2^unit.
    pub(super) fn of_square(self, row: impl Iterator<Item = f64>, unit: i32) -> f64 {
        let down = power::power(-unit);
        self.times(row.map(|x| (x * down) * (x * down)).sum::<f64>(), 2 * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_outlives_the_range_of_numbers() {
        let rate = Rate::in_parts(0.75, -2000).unwrap();
        assert_eq!((rate.value(), rate.in_units(2001), rate.parts()), (0.0, 1.5, (0.75, -2000)));
        assert_eq!(rate.of_square([1.0, 1.0].map(|x| x * power::power(1000)).into_iter(), 1000), 1.5);
        assert!(Rate::new(-1.0).is_err() && Rate::new(f64::NAN).is_err());
    }
}
