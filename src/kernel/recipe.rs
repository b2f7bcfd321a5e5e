//! How a kernel becomes products or distances of packed rows, and a profile of these.

use super::base::{Base, longest};
use super::range::unit_of_distances;
use super::{Extent, Kernel, Rate};
use crate::matrix::{Element, MatrixView};
use crate::power;
use crate::simd::Lane;
use crate::simd::profile::{Decay, Equal, Power, Profile, RealPower, Scale, Sigmoid};
use std::f64::consts::LOG2_E;

/// Columns up to which squared distances are sums of squared differences: as fast as products there, and right to the
/// last digits however near two rows are.
const DIFFERENCES: usize = 64;

/// Beyond [`DIFFERENCES`] columns, products serve while gamma |x - m|^2 stays below this: |x|^2 + |y|^2 - 2 x'y is
/// wrong by about 2 eps |x - m|^2, so the kernel by 16 eps at worst.
const PRODUCTS: f64 = 8.0;

/// Degrees up to here are taken by repeated squaring where they are whole.
const WHOLE_DEGREE: f64 = 1e6;

/// tanh t = t - t^3/3 + .. is t to the last digit of an `f64` where t has two terms below 2^this.
const STRAIGHT: i32 = -27;

/// Whether kernel values come as they are or in a unit of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// As they are.
    Plain,
    /// Those without a bound in units of 2^[`Tiles::exponent`](super::Tiles::exponent), so that none over- or
    /// underflows. For one set of rows.
    Own,
}

/// How coordinates meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meeting {
    Product,
    Square,
    Absolute,
}

/// What a kernel asks of the packing.
pub(super) struct Plan<T> {
    pub(super) meeting: Meeting,
    pub(super) profile: Profile<T>,
    pub(super) origin: Vec<f64>,
    pub(super) factors: Vec<f64>,
    pub(super) exponent: i32,
    /// The diagonal is 1.
    pub(super) unit_diagonal: bool,
}

/// Inner products of rows as they are, times `scale`.
pub(super) fn of_products<T: Lane>(scale: Scale<T>, exponent: i32) -> Plan<T> {
    Plan {
        meeting: Meeting::Product,
        profile: Profile::Scale(scale),
        origin: Vec::new(),
        factors: Vec::new(),
        exponent,
        unit_diagonal: false,
    }
}

/// What every kernel but the cosine asks, which needs the lengths of the rows too.
pub(super) fn plan<T: Lane, U: Element>(
    x: MatrixView<U>,
    y: Option<MatrixView<U>>,
    kernel: &Kernel,
    extent: &Extent,
    units: Units,
) -> Plan<T> {
    match *kernel {
        Kernel::Cosine => of_products(Scale(T::of(1.0)), 0),
        Kernel::Linear { centered } => linear(centered, extent, units),
        Kernel::Poly { gamma, degree, coef0 } => poly(x, (gamma, degree, coef0), extent.size_exponent(), units),
        Kernel::Sigmoid { gamma, coef0 } => sigmoid(x, (gamma, coef0), extent.size_exponent(), units),
        Kernel::Rbf { gamma } => rbf(x, y, gamma, extent),
        Kernel::Laplacian { gamma } => laplacian(gamma, extent),
        // Unscaled: the difference of two unequal numbers is never 0.
        Kernel::Delta => Plan {
            profile: Profile::Equal(Equal),
            meeting: Meeting::Absolute,
            unit_diagonal: true,
            ..of_products(Scale(T::of(1.0)), 0)
        },
    }
}

fn linear<T: Lane>(centered: bool, extent: &Extent, units: Units) -> Plan<T> {
    let origin = if centered { extent.mean().to_vec() } else { Vec::new() };
    let unit = if centered { extent.spread_exponent() } else { extent.size_exponent() };
    let (factors, exponent) = match units {
        Units::Plain => (Vec::new(), 0),
        Units::Own if centered => (extent.factors(unit), 2 * unit),
        Units::Own => (uniform(unit, extent.mean().len()), 2 * unit),
    };
    Plan { origin, factors, ..of_products(Scale(T::of(1.0)), exponent) }
}

/// (gamma x'y + coef0)^degree, from rows in units of 2^size.
fn poly<T: Lane, U: Element>(
    x: MatrixView<U>,
    (gamma, degree, coef0): (Rate, f64, f64),
    size: i32,
    units: Units,
) -> Plan<T> {
    let Base { factor, shift, exponent } = match units {
        Units::Plain => Base::plain(gamma, coef0, size),
        Units::Own => Base::own(gamma, coef0, degree, (longest(x, size), size)),
    };
    let (factor, shift) = (narrow(factor), narrow(shift));
    let profile = if degree.fract() == 0.0 && degree <= WHOLE_DEGREE {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and in range
        Profile::Power(Power { factor, shift, degree: degree as u32 })
    } else {
        Profile::RealPower(RealPower { factor, shift, degree })
    };
    Plan { profile, factors: uniform(size, x.cols()), ..of_products(Scale(T::of(1.0)), exponent) }
}

/// tanh(gamma x'y + coef0), from rows in units of 2^size.
fn sigmoid<T: Lane, U: Element>(x: MatrixView<U>, (gamma, coef0): (Rate, f64), size: i32, units: Units) -> Plan<T> {
    let plan = |profile, exponent| Plan {
        profile,
        factors: uniform(size, x.cols()),
        ..of_products(Scale(T::of(1.0)), exponent)
    };
    if units == Units::Own {
        let Base { factor, shift, exponent } = Base::own(gamma, coef0, 1.0, (longest(x, size), size));
        if exponent <= STRAIGHT {
            return plan(Profile::Power(Power { factor: narrow(factor), shift: narrow(shift), degree: 1 }), exponent);
        }
    }
    plan(Profile::Sigmoid(Sigmoid { factor: narrow(gamma.in_units(2 * size)), shift: narrow(coef0) }), 0)
}

fn rbf<T: Lane, U: Element>(x: MatrixView<U>, y: Option<MatrixView<U>>, gamma: Rate, extent: &Extent) -> Plan<T> {
    let (spread, unit) = (extent.spread_exponent(), unit_of_distances::<T>(gamma, 2, extent));
    let gamma = gamma.in_units(2 * unit);
    let decay = Decay(narrow(gamma * LOG2_E));
    let farthest = |x: MatrixView<U>| extent.squared_distances(x, spread).0;
    let near = || gamma * farthest(x).max(y.map_or(0.0, farthest)) <= PRODUCTS;
    let products = x.cols() > DIFFERENCES && unit == spread && near();
    let plan = Plan { factors: extent.factors(unit), unit_diagonal: true, ..of_products(Scale(T::of(1.0)), 0) };
    if products {
        Plan { profile: Profile::DecayOfProducts(decay), origin: extent.mean().to_vec(), ..plan }
    } else {
        Plan { profile: Profile::Decay(decay), meeting: Meeting::Square, ..plan }
    }
}

fn laplacian<T: Lane>(gamma: Rate, extent: &Extent) -> Plan<T> {
    let unit = unit_of_distances::<T>(gamma, 1, extent);
    Plan {
        profile: Profile::Decay(Decay(narrow(gamma.in_units(unit) * LOG2_E))),
        meeting: Meeting::Absolute,
        factors: extent.factors(unit),
        unit_diagonal: true,
        ..of_products(Scale(T::of(1.0)), 0)
    }
}

pub(super) fn uniform(exponent: i32, columns: usize) -> Vec<f64> {
    vec![power::power(-exponent); columns]
}

/// In the element type, and finite: infinity times a distance of 0 would be NaN.
fn narrow<T: Element>(x: f64) -> T {
    T::of(x.clamp(-T::MAX, T::MAX))
}
