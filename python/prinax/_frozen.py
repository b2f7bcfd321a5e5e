"""A fitted transform made ready for services: called like a function, saved without pickle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core, _files, _npz, _validation

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array

# What a file is called at its end.
SUFFIXES = (".safetensors", ".npz")


class FrozenTransform(_core.FrozenTransform):
    """An immutable affine map for services: ``z = (x - mean) / scale @ matrix.T``, a microsecond a call.

    Made by ``freeze()`` of a fitted PCA, IncrementalPCA, SPCA or Whitener, or from its arrays. Called like a
    function, ``frozen(x)`` or ``frozen(x, out=scores)``, with an array of one row, (n_features,), or of a
    batch, (n_samples, n_features), from as many threads as you like; a row has the same bits alone and in a
    batch. Only dtype and shape are looked at: NaN in, NaN out. ``out`` is a C-ordered array of the scores'
    dtype and shape that does not overlap x. A thread keeps the memory of its first call for the next one, up
    to 8 MB.

    Parameters
    ----------
    matrix : array-like of shape (n_components, n_features)
        One row a score; float32 or float64 is the dtype of the transform, anything else becomes float64.
    mean : array-like of shape (n_features,)
        Subtracted in float64, also from float32 rows (as a high and a low part): it is never folded into an
        offset, which would lose digits far from the origin.
    scale : array-like of shape (n_features,) or None, default=None
        What the centred columns are divided by; a column of scale 0 is left out.

    Attributes
    ----------
    matrix : ndarray of shape (n_components, n_features)
        A new array on each read, like the others. For a whitening model the standard deviations are divided
        into its rows.
    mean : ndarray of shape (n_features,)
        float64.
    scale : ndarray of shape (n_features,) or None
        float64.
    dtype : dtype
        float32 or float64: of the rows that come in and of the scores.
    n_features : int
        Length of a row.
    n_components : int
        Length of its scores.

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import FrozenTransform
    >>> frozen = FrozenTransform([[0.6, 0.8]], mean=[1.0, 2.0])
    >>> frozen(np.array([6.0, 12.0]))
    array([11.])
    >>> frozen(np.array([[6.0, 12.0], [1.0, 2.0]]))
    array([[11.],
           [ 0.]])
    """

    __slots__ = ()

    def __new__(cls, matrix: Any, mean: Any, scale: Any = None) -> Self:
        by = cls.__name__
        A = _validation.matrix(matrix, by, "matrix", rows=0)
        d = A.shape[1]
        mean = _validation.vector(mean, d, by, "mean")
        scale = None if scale is None else _validation.vector(scale, d, by, "scale")
        return super().__new__(cls, mean, A, scale, None)

    @classmethod
    def _of(
        cls, mean: Array, matrix: Array, scale: Array | None, whitening: tuple[Array, Array] | None
    ) -> Self:
        """From checked arrays; scores are divided by the roots of the variances in `whitening`."""
        return super().__new__(cls, mean, matrix, scale, whitening)

    # --- bytes and files ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the transform to a file whose name ends in ".safetensors" or ".npz".

        Neither holds anything that could be executed. The same transform gives the same bytes. A file that is
        there is replaced at once: who reads it meanwhile gets the old one or the new one, and a `save` that
        fails leaves it as it was.
        """
        if _suffix(path) == ".npz":
            arrays = {"matrix": self.matrix, "mean": self.mean, "scale": self.scale}
            with _files.replacing(path) as file:
                _npz.write(file, KIND, {name: A for name, A in arrays.items() if A is not None})
            return
        content = self.to_bytes()
        with _files.replacing(path) as file:
            file.write(content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The transform that `save` wrote; a file that is anything else is refused with a ValueError."""
        suffix = _suffix(path)
        with open(path, "rb") as file:
            content = file.read()
        try:
            return cls._from_npz(content) if suffix == ".npz" else cls.from_bytes(content)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The transform that `to_bytes` wrote (a .safetensors file); anything else is a ValueError."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, got a {type(data).__name__}")
        found = _core.FrozenTransform.read(bytes(data))
        return cls._of(found.mean, found.matrix, found.scale, None)

    @classmethod
    def _from_npz(cls, content: bytes) -> Self:
        arrays = _npz.read(content, KIND, NAMES)
        matrix, mean, scale = (arrays.get(name) for name in NAMES)
        if matrix is None or mean is None:
            raise ValueError(f"it has no array {'matrix' if matrix is None else 'mean'!r}")
        dtype = matrix.dtype.newbyteorder("=")
        if dtype not in ("float32", "float64"):
            raise ValueError(f"its matrix has dtype {matrix.dtype}, not float32 or float64")
        return cls(matrix.astype(dtype, copy=False), mean, scale)

    def __reduce__(self) -> tuple[Any, ...]:
        # The state is what a subclass has added.
        return type(self).from_bytes, (self.to_bytes(),), self.__getstate__()

    def __repr__(self) -> str:
        return f"FrozenTransform({self.n_features} -> {self.n_components}, {self.dtype})"


# What files call the class and its arrays.
KIND = "FrozenTransform"
NAMES = ("matrix", "mean", "scale")


def _suffix(path: str | os.PathLike[str]) -> str:
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"path must be a str or a path, got a {type(path).__name__}") from None
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise ValueError(f"path must end in {' or '.join(SUFFIXES)}, got {name!r}")
