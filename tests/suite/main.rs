//! The core through its public interface. One program, because every one compiles the generic loops again.

mod eigen;
mod gram;
mod hsic;
mod kernels;
mod leading;
mod moments;
mod randomized;
mod spectra;
mod support;
