"""Principal component analysis and its family, right and fast."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._core import InternalError, __version__

__all__ = [
    "PCA",
    "SPCA",
    "FrozenTransform",
    "HSICTest",
    "IncrementalPCA",
    "InternalError",
    "KernelPCA",
    "KernelSPCA",
    "Moments",
    "NotFittedError",
    "Whitener",
    "__version__",
    "center_kernel",
    "center_rows",
    "cka",
    "covariance",
    "eigh",
    "get_num_threads",
    "gram",
    "hsic",
    "hsic_test",
    "kernel_matrix",
    "set_num_threads",
]

if TYPE_CHECKING:
    # For type checkers, and for tools that pack a program with all that its import statements name.
    from ._base import NotFittedError
    from ._covariance import Moments, center_rows, covariance, gram
    from ._frozen import FrozenTransform
    from ._hsic import HSICTest, cka, hsic, hsic_test
    from ._incremental_pca import IncrementalPCA
    from ._kernel_pca import KernelPCA
    from ._kernel_spca import KernelSPCA
    from ._kernels import center_kernel, kernel_matrix
    from ._linalg import eigh
    from ._pca import PCA
    from ._spca import SPCA
    from ._threads import get_num_threads, set_num_threads
    from ._whitening import Whitener
else:
    # A module is imported when one of its names is first asked for: most of an import's time would go to
    # models that the program never uses. Type checkers must not see `__getattr__`, or every name would exist.
    _NAMES_IN = {
        "_base": ["NotFittedError"],
        "_covariance": ["Moments", "center_rows", "covariance", "gram"],
        "_frozen": ["FrozenTransform"],
        "_hsic": ["HSICTest", "cka", "hsic", "hsic_test"],
        "_incremental_pca": ["IncrementalPCA"],
        "_kernel_pca": ["KernelPCA"],
        "_kernel_spca": ["KernelSPCA"],
        "_kernels": ["center_kernel", "kernel_matrix"],
        "_linalg": ["eigh"],
        "_pca": ["PCA"],
        "_spca": ["SPCA"],
        "_threads": ["get_num_threads", "set_num_threads"],
        "_whitening": ["Whitener"],
    }
    _MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names}

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
        return value


def __dir__() -> list[str]:
    return __all__
