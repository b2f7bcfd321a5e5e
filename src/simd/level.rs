//! Which instruction set runs: the best one of the machine, or a lower one named by `PRINAX_SIMD`.

use pulp::{Arch, WithSimd};
use std::sync::OnceLock;

/// Bytes of a line below which narrow vectors are as fast as wide ones: 32 vectors of 512 bits.
const SHORT: usize = 2048;

/// An instruction set that the hot loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The baseline of the target, one element at a time.
    Scalar,
    /// 256-bit vectors with fused multiply-add (x86-64-v3: AVX2), or NEON.
    V3,
    /// 512-bit vectors (x86-64-v4: AVX-512).
    V4,
}

impl Level {
    /// Every level this machine can run, lowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        [Self::Scalar, Self::V3, Self::V4].into_iter().filter(|level| arch(*level).is_some()).collect()
    }

    /// The name that `PRINAX_SIMD` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }
}

/// The level in use: the best the machine has, capped by `PRINAX_SIMD=scalar|v3|v4` (read once).
#[must_use]
pub fn level() -> Level {
    chosen().level
}

/// Runs a hot loop at the level in use.
#[inline]
pub fn run<Op: WithSimd>(op: Op) -> Op::Output {
    chosen().arch.dispatch(op)
}

/// Runs a hot loop with vectors of 256 bits where the level in use has wider ones: for loops that gain nothing from
/// width.
#[inline]
pub fn run_narrow<Op: WithSimd>(op: Op) -> Op::Output {
    chosen().narrow.dispatch(op)
}

/// Runs a loop along lines of `len` elements: with narrow vectors where few of 512 bits would fill a line, so that its
/// end and the sum of the lanes count.
#[inline]
pub fn run_along<T, Op: WithSimd>(len: usize, op: Op) -> Op::Output {
    if len * size_of::<T>() < SHORT { run_narrow(op) } else { run(op) }
}

/// Runs a hot loop at one level, for tests; `None` where the machine lacks it.
pub fn run_at<Op: WithSimd>(level: Level, op: Op) -> Option<Op::Output> {
    arch(level).map(|arch| arch.dispatch(op))
}

/// The level in use, and pulp's name of it and of the narrower one.
#[derive(Clone, Copy)]
struct Chosen {
    level: Level,
    arch: Arch,
    narrow: Arch,
}

fn chosen() -> Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let cap = match std::env::var("PRINAX_SIMD").as_deref() {
            Ok("scalar") => Level::Scalar,
            Ok("v3") => Level::V3,
            _ => Level::V4,
        };
        let best = |cap: Level| {
            let vectors = [Level::V4, Level::V3].into_iter().filter(|level| *level <= cap);
            let mut found = vectors.filter_map(|level| Some((level, arch(level)?)));
            found.next().unwrap_or((Level::Scalar, Arch::Scalar))
        };
        let ((level, arch), (_, narrow)) = (best(cap), best(cap.min(Level::V3)));
        Chosen { level, arch, narrow }
    })
}

#[cfg(target_arch = "x86_64")]
fn arch(level: Level) -> Option<Arch> {
    match level {
        Level::Scalar => Some(Arch::Scalar),
        Level::V3 => pulp::x86::V3::try_new().map(Arch::V3),
        Level::V4 => pulp::x86::V4::try_new().map(Arch::V4),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn arch(level: Level) -> Option<Arch> {
    match level {
        Level::Scalar => Some(Arch::Scalar),
        // One vector level beside the baseline (NEON): pulp knows whether there is one.
        Level::V3 => Some(Arch::new()).filter(|arch| !matches!(arch, Arch::Scalar)),
        Level::V4 => None,
    }
}
