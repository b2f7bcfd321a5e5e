"""Principal component analysis and its family, right and fast."""

from ._base import NotFittedError
from ._core import InternalError, __version__
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


def __dir__() -> list[str]:
    return __all__
