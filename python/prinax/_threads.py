"""The size of prinax's own thread pool."""

from __future__ import annotations

from . import _core, _rules


def set_num_threads(n: int | None) -> None:
    """Set how many threads prinax uses in this process. No result depends on it, not in one bit.

    They are started by the first call that needs them, and kept asleep from then on: another number later
    starts threads of its own beside them.

    Parameters
    ----------
    n : int or None
        From 1 to 256, or to the CPUs that this process may use where those are more. None returns to the
        environment's choice: ``PRINAX_NUM_THREADS``, else ``OMP_NUM_THREADS``, else those CPUs.
    """
    _core.set_num_threads(None if n is None else _rules.whole(1)("n", n))


def get_num_threads() -> int:
    """How many threads prinax uses in this process.

    Returns
    -------
    int
    """
    return _core.get_num_threads()
