//! A frozen transform as bytes and back.

use super::container::{Container, Numbers, write};
use super::frozen::Frozen;
use super::projection::LinearMap;
use crate::error::Result;
use crate::matrix::MatrixView;
use crate::simd::Lane;

/// What the header calls it.
const CLASS: &str = "FrozenTransform";

/// A frozen transform of either precision.
#[derive(Clone, Debug)]
pub enum AnyFrozen {
    /// Of single-precision rows.
    F32(Frozen<f32>),
    /// Of double-precision rows.
    F64(Frozen<f64>),
}

impl AnyFrozen {
    /// The file: `matrix` (k, d) in its precision, `mean` (d,) and, where there is one, `scale` (d,) in double
    /// precision.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(map) => bytes(map, Numbers::F32(map.matrix())),
            Self::F64(map) => bytes(map, Numbers::F64(map.matrix())),
        }
    }

    /// What [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`crate::Error::Value`] and the errors of [`Frozen::of`] for anything else.
    pub fn from_bytes(data: &[u8]) -> Result<Self> {
        let file = Container::open(data, CLASS, &["matrix", "mean", "scale"])?;
        let shape: [usize; 2] = file.shape("matrix")?;
        let mean: Vec<f64> = file.read("mean", &shape[1..])?;
        let scale: Option<Vec<f64>> = if file.has("scale") { Some(file.read("scale", &shape[1..])?) } else { None };
        if file.is_single("matrix") {
            return Ok(Self::F32(thawed(&file.read("matrix", &shape)?, shape, &mean, scale.as_deref())?));
        }
        Ok(Self::F64(thawed(&file.read("matrix", &shape)?, shape, &mean, scale.as_deref())?))
    }
}

fn bytes<T: Lane>(map: &Frozen<T>, matrix: Numbers) -> Vec<u8> {
    let (k, d) = (map.k(), map.d());
    let (whole, width) = ([k, d], [d]);
    let mut arrays: Vec<(&str, &[usize], Numbers)> =
        vec![("matrix", &whole, matrix), ("mean", &width, Numbers::F64(map.mean()))];
    if let Some(scale) = map.scale() {
        arrays.push(("scale", &width, Numbers::F64(scale)));
    }
    write(CLASS, &arrays)
}

fn thawed<T: Lane>(matrix: &[T], [k, d]: [usize; 2], mean: &[f64], scale: Option<&[f64]>) -> Result<Frozen<T>> {
    Frozen::of(&LinearMap::new(mean, MatrixView::new(matrix, k, d)?, scale, None)?)
}
