"""What a formula says of us before we are measured."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """A formula in words and its value, in the row's unit."""

    formula: str
    value: float


def megabytes(formula: Callable[..., float], *sizes: int) -> Prediction:
    """Of a function that gives bytes and whose docstring is its formula."""
    return Prediction((inspect.getdoc(formula) or formula.__name__).rstrip("."), formula(*sizes) / 1e6)
