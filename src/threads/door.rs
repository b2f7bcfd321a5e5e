//! A door that helpers enter while it is open: nobody waits for one who has not come yet.

use super::locked;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Added to the count of those inside when the door is closed.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Open at first.
#[derive(Default)]
pub(super) struct Door {
    /// How many are inside, and [`CLOSED`].
    inside: AtomicUsize,
    /// The first panic of those who were.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Door {
    /// Does the work inside, unless the door is closed.
    pub(super) fn pass(&self, work: impl FnOnce()) {
        let enter = |inside| if inside & CLOSED == 0 { Some(inside + 1) } else { None };
        if self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            locked(&self.panic).get_or_insert(panic);
        }
        self.inside.fetch_sub(1, Ordering::Release);
    }

    /// Lets nobody in any more.
    pub(super) fn close(&self) {
        self.inside.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether it is closed and everybody has left.
    pub(super) fn is_deserted(&self) -> bool {
        self.inside.load(Ordering::Acquire) == CLOSED
    }

    /// Raises again what one inside has panicked with.
    pub(super) fn raise(&self) {
        if let Some(panic) = locked(&self.panic).take() {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_does_not_get_in() {
        let door = Door::default();
        let mut passed = 0;
        door.pass(|| passed += 1);
        assert!(!door.is_deserted(), "open still");
        door.pass(|| {
            door.close();
            assert!(!door.is_deserted(), "one is inside");
        });
        assert!(door.is_deserted());
        door.pass(|| passed += 1);
        assert_eq!(passed, 1);
    }

    #[test]
    #[should_panic(expected = "first")]
    fn the_first_panic_is_raised_again() {
        let door = Door::default();
        door.pass(|| panic!("the first"));
        door.pass(|| panic!("another"));
        door.close();
        assert!(door.is_deserted());
        door.raise();
    }
}
