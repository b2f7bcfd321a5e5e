//! [`affinity`](super::affinity) on systems other than Linux, whose schedulers are left alone.

/// The CPUs of one helper.
#[derive(Default)]
pub(super) struct Affinity {}

#[allow(clippy::unused_self)]
impl Affinity {
    pub(super) fn is_mine(&self) {}

    pub(super) fn keep_off_this_cpu(&self) {}

    pub(super) fn restore(&self) {}
}
