//! The core through its public interface. One program, because every one compiles the generic loops again.

mod eigen;
mod gram;
mod half;
mod hsic;
mod independence;
mod kernels;
mod leading;
mod moments;
mod randomized;
mod spectra;
mod streams;
mod support;
