//! P'P of a tall matrix P that is packed a panel at a time, with one thread or several.

use crate::error::Result;
use crate::matrix::MatrixView;
use crate::simd::Lane;
use crate::simd::panel::Panel;
use crate::simd::syrk::CrossProduct;
use crate::simd::tiling::Shape;
use crate::threads::{Team, split};
use std::ops::Range;

/// Rows * cols^2 of the panels that a team shares between two waits for each other, some milliseconds of work, and how
/// many panels at most: more of them take memory and gain nothing.
const SHARED_WORK: usize = 256_000_000;
const SHARED_PANELS: usize = 8;
/// Widest P whose groups of rows each keep their own product; wider ones have one, whose bands are shared out.
const GROUPED_COLS: usize = 256;
/// Most groups: enough for any number of cores to share at these widths, few enough to merge for nothing.
const GROUPS: usize = 16;
/// Fewest rows of a group, so that merging costs under 1 % of the products.
const GROUP_ROWS: usize = 256;
/// Fewest rows * cols^2 of a group: about 0.2 ms of work, far above the cost of starting it.
const GROUP_WORK: usize = 8_000_000;

/// The running product, and the panels that feed it.
pub(super) struct Product<T> {
    pub(super) sums: CrossProduct,
    shape: Shape,
    capacity: usize,
    panels: Vec<Panel<T>>,
}

impl<T: Lane> Product<T> {
    /// For P of `cols` columns, at most `rows` rows added at once; with a team of several, for panels it packs side by
    /// side.
    pub(super) fn new(rows: usize, cols: usize, team: &Team) -> Result<Self> {
        let shape = Shape::of::<T>(cols);
        let capacity = Panel::<T>::length(rows);
        let count = shared(rows.div_ceil(capacity), capacity, cols, team);
        let panels = (0..count).map(|_| Panel::new(capacity, cols, shape)).collect();
        Ok(Self { sums: CrossProduct::new(cols, shape)?, shape, capacity, panels })
    }

    /// How panels and tiles are cut.
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// Adds the rows `0..rows` of P, which `pack` writes to a panel from `source`; each panel is then shown to
    /// `packed`, in order.
    pub(super) fn add<'a>(
        &mut self,
        rows: usize,
        team: &Team,
        source: impl Fn(Range<usize>) -> MatrixView<'a, T>,
        pack: impl Fn(&mut Panel<T>, Range<usize>) + Sync + Send,
        mut packed: impl FnMut(&Panel<T>),
    ) -> Result<()> {
        let step = self.capacity * self.panels.len();
        for start in (0..rows).step_by(step) {
            team.check()?;
            let starts = (start..rows.min(start + step)).step_by(self.capacity);
            let used = starts.len();
            let jobs = self.panels.iter_mut().zip(starts).collect();
            team.map(jobs, |(panel, start): (&mut Panel<T>, usize)| {
                pack(panel, start..rows.min(start + self.capacity));
            });
            self.panels[..used].iter().for_each(&mut packed);
            let next = rows.min(start + step)..rows.min(start + 2 * step);
            self.sums.add(&self.panels[..used], source(next), team);
        }
        Ok(())
    }
}

/// How many of `all` panels of `rows` x `cols` are packed before they are multiplied: one, or some for each of a team.
fn shared(all: usize, rows: usize, cols: usize, team: &Team) -> usize {
    if team.threads() == 1 {
        return 1;
    }
    let enough = SHARED_WORK / (cols.saturating_mul(cols).saturating_mul(rows)).max(1);
    enough.clamp(1, SHARED_PANELS).next_multiple_of(team.threads()).min(all).max(1)
}

/// The groups of rows whose products are summed apart, by one thread each, and merged in order; a single group where
/// the team shares the bands instead. From the sizes alone.
pub(super) fn groups(rows: usize, cols: usize) -> Vec<Range<usize>> {
    let most = (rows / GROUP_ROWS).min(rows.saturating_mul(cols.saturating_mul(cols)) / GROUP_WORK).min(GROUPS);
    let count = if most == 0 || !is_grouped(cols) { 1 } else { 1 << most.ilog2() };
    split(0..rows, count)
}

/// The team that works inside a group.
pub(super) fn team_within<'a>(team: &Team<'a>, cols: usize) -> Team<'a> {
    if is_grouped(cols) { team.alone() } else { *team }
}

fn is_grouped(cols: usize) -> bool {
    cols <= GROUPED_COLS
}
