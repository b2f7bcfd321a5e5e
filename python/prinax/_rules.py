"""Rules: what a parameter's value may be, and the sentence when it is not.

A rule takes a parameter's name and value and returns the value as the core wants it. A wrong type is a
TypeError, a value out of range a ValueError; both name the parameter, what was found and what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

Rule = Callable[[str, Any], Any]

# The seed when random_state is None: every fit repeats unless the caller asks for something else.
FIXED_SEED = 0

# The solvers that start from random vectors; so may "auto", which ends at the same pairs wherever it starts.
RANDOM_STARTS = ("lanczos", "randomized")

# Seeds are drawn below this from a caller's generator.
SEED_BOUND = 2**31 - 1

# Bits of the integers that the core takes, one left for the sign; a ddof it takes as 32 bits without one.
WORD_BITS = 63
DDOF_BITS = 32

# Longer integers are told by their length: a sentence has no room for their digits, and Python prints no more
# than 4300.
BITS_SHOWN = 128


def flag(name: str, value: Any) -> bool:
    """True or False, Python's or NumPy's."""
    if is_bool(value):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {shown(value)}")


# The makers of rules are cached: a function that asks for one at every call gets the one it made.


@cache
def whole(low: int, *words: str, bits: int = WORD_BITS) -> Rule:
    """An integer from `low` to below 2**bits, Python's or NumPy's, or one of `words`, which becomes -1."""
    wanted = " or ".join([*map(repr, words), f"an integer of at least {low}"])

    def rule(name: str, value: Any) -> int:
        if words and isinstance(value, str):
            if value in words:
                return -1
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        if not is_integer(value):
            raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
        if value < low:
            raise ValueError(f"{name} must be {wanted}, got {shown(value)}")
        number = int(value)
        if number.bit_length() > bits:
            raise ValueError(f"{name} must be an integer below 2**{bits}, got {shown(value)}")
        return number

    return rule


def non_negative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number of at least 0, got {shown(value)}")
    number = as_float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{name} must be a finite number of at least 0, got {shown(value)}")
    return number


def share(name: str, value: Any) -> float:
    """A number above 0 and at most 1."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number above 0 and at most 1, got {shown(value)}")
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1, got {shown(value)}")
    return _as_printed(value)


@cache
def one_of(*words: str, **aliases: str) -> Rule:
    """One of `words`; an alias is another word for one of them."""
    wanted = "one of " + ", ".join(map(repr, [*words, *aliases]))

    def rule(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
        if value not in words and value not in aliases:
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        return aliases.get(value, str(value))

    return rule


@cache
def components(low: int, *words: str) -> Rule:
    """None, an integer from `low` on, a share of the variance in (0, 1), or a word; X is looked at later."""
    choices = [f"an integer of at least {low}", "a share of the variance between 0 and 1", *map(repr, words)]
    wanted = ", ".join(choices) + " or None"
    count = whole(low)

    def rule(name: str, value: Any) -> int | float | str | None:
        if is_integer(value) and value >= low:
            number: int = count(name, value)
            return number
        if value is None or (isinstance(value, str) and value in words):
            return value
        if not isinstance(value, str) and not is_real(value):
            raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
        if is_real(value) and 0 < value < 1:
            return _as_printed(value)
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}{_hint(name, value)}")

    return rule


def _hint(name: str, value: Any) -> str:
    """What a float that is a whole number may have meant."""
    if not is_real(value) or is_integer(value) or not 1 <= value < 2**53 or int(value) != value:
        return ""
    either = f"{name}=None for all components or " if value == 1 else ""
    return f": write {either}{name}={int(value)}"


def random_state(name: str, value: Any) -> Any:
    """None, an integer of at least 0, or what draws integers: RandomState, Generator, numpy.random."""
    # Python's random has a randint too. numpy.random is loaded with its first use, so it is asked for last.
    legacy = hasattr(value, "randint") and (value is np.random or isinstance(value, np.random.RandomState))
    if value is None or hasattr(value, "integers") or legacy:
        return value
    wanted = "None, an integer from 0 to 2**64 - 1, a RandomState or a Generator"
    if not is_integer(value):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
    if not 0 <= value < 2**64:
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")
    return int(value)


def solver_seed(state: Any, solver: str) -> int:
    """`seed` of a fit: a generator is left alone unless the solver asked for starts from random vectors."""
    if state is None or (solver not in RANDOM_STARTS and not is_integer(state)):
        return FIXED_SEED
    return seed(state)


def seed(state: Any) -> int:
    """The core's seed from a checked random_state; a generator advances by one draw."""
    if state is None:
        return FIXED_SEED
    if hasattr(state, "integers"):
        return int(state.integers(SEED_BOUND))
    if hasattr(state, "randint"):
        return int(state.randint(SEED_BOUND))
    return int(state)


def keywords(name: str, value: Any) -> dict[str, Any]:
    """Arguments by name, or None for none."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} must be a dict of arguments by name or None, got {shown(value)}")
    return value


def count_or_none(name: str, value: Any) -> int | None:
    """An integer of at least 1, or None."""
    return None if value is None else whole(1)(name, value)


def jobs(name: str, value: Any) -> int | None:
    """A number of jobs as joblib has it; prinax's own threads do the work."""
    if value is None or is_integer(value):
        return None if value is None else int(value)
    raise TypeError(f"{name} must be an integer or None, got {shown(value)}")


def progress(name: str, value: Any) -> Any:
    """True, False, or what is called with (done, total)."""
    if callable(value) or is_bool(value):
        return value
    raise TypeError(f"{name} must be True, False or a callable(done, total), got {shown(value)}")


# What a divisor is smaller by than the number of samples.
ddof = whole(0, bits=DDOF_BITS)


# --- small words --------------------------------------------------------------------------------------------


def is_bool(value: Any) -> bool:
    return value is True or value is False or isinstance(value, np.bool_)


# Python's own types are known at a glance: asking an abstract class takes ten times as long, which a fit of a
# few rows feels.


def is_integer(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not is_bool(value))


def is_real(value: Any) -> bool:
    return type(value) is float or type(value) is int or (isinstance(value, Real) and not is_bool(value))


def is_number(value: Any) -> bool:
    """Numbers of any kind: Decimal, which is no `Real`, and True and False among them."""
    return isinstance(value, (Number, np.bool_))


def as_float(value: Any) -> float:
    """A real number as float64, infinity where it is beyond."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _as_printed(value: Any) -> float:
    """A share as float64, read as it prints: np.float32(0.9) means 0.9, not 0.89999998."""
    return float(str(value)) if isinstance(value, np.floating) else float(value)


def shown(value: Any) -> str:
    """A value as a sentence has it: cut short, and with its type where the text leaves that open."""
    if is_integer(value) and (bits := int(value).bit_length()) > BITS_SHOWN:
        return f"an integer of {bits} bits"
    text = f"{value!r:.60}"
    return (
        text if isinstance(value, (int, float, str)) or value is None else f"{text} ({type(value).__name__})"
    )
