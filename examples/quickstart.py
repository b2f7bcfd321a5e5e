"""PCA end to end on real images: what `make demo` runs.

Prints the spectrum of the digit 8, how many components keep 90, 95 and 99 % of its variance, the
reconstruction error against the sum of the discarded eigenvalues, fit and transform times beside NumPy and
scikit-learn with the accuracy of each, and writes the pictures of the sibling scripts.
"""

import sys
import time

import data
import denoise_digit
import digit_components
import digit_rebuilt
import eigenfaces
import face_from_15_numbers
import hsic_columns
import hsic_pvalues
import manifolds
import numpy as np
import panels_2d
import race
import rings
import scree
import supervised_classes
import whitened_patches
import whitening_filters
from prinax import PCA

PICTURES = (
    digit_components,
    scree,
    digit_rebuilt,
    eigenfaces,
    face_from_15_numbers,
    denoise_digit,
    panels_2d,
    whitened_patches,
    whitening_filters,
    rings,
    manifolds,
    supervised_classes,
    hsic_columns,
    hsic_pvalues,
)


def spectrum(pca: PCA) -> None:
    print("\nSpectrum of the digit 8 (500 images of 784 pixels)")
    print(f"  {'component':>9} {'eigenvalue':>12} {'share':>8} {'captured':>9}")
    captured = np.cumsum(pca.explained_variance_ratio_)
    for j in (0, 1, 2, 4, 9, 19, 49, 99, 199):
        ratio = pca.explained_variance_ratio_[j]
        bar = "#" * max(1, round(200 * ratio))
        print(f"  {j + 1:>9} {pca.explained_variance_[j]:>12.1f} {ratio:>8.2%} {captured[j]:>9.2%}  {bar}")
    print(f"  {pca.rank_} directions carry any variance at all; solver: {pca.solver_}")
    for share in scree.SHARES:
        print(f"  {pca.n_components_for(ratio=share):>4} components keep {share:.0%}")


def reconstruction(images: np.ndarray) -> None:
    print("\nReconstruction: the mean squared error is the sum of the discarded eigenvalues (divisor n)")
    print(f"  {'kept':>4} {'mean squared error':>20} {'discarded eigenvalues':>22} {'difference':>11}")
    total = PCA(ddof=0).fit(images).explained_variance_
    for k in digit_rebuilt.KEPT:
        error = PCA(n_components=k).fit(images).reconstruction_error(images)
        discarded = float(total[k:].sum())
        print(f"  {k:>4} {error:>20.6g} {discarded:>22.6g} {abs(error - discarded) / total.sum():>11.0e}")


def faces() -> None:
    images = data.faces()
    pca = PCA(n_components=15).fit(images)
    kept = pca.explained_variance_ratio_.sum()
    print(f"\n15 numbers a face instead of 625 keep {kept:.1%} of the variance of {len(images)} faces")


def draw() -> None:
    print("\nPictures")
    for picture in PICTURES:
        start = time.perf_counter()
        print(f"  {picture.draw()}  {time.perf_counter() - start:.1f} s", flush=True)


def main() -> int:
    try:
        print(
            "Reading 5,000 digits, 100 faces, 20,000 patches of photographs and 64 cancer cell lines",
            flush=True,
        )
        data.mnist()
        data.faces()
        data.photograph_patches()
        data.cancer_cells()
    except data.DataNotInstalledError as missing:
        print(missing, file=sys.stderr)
        return 1
    images = data.eights()
    spectrum(PCA().fit(images))
    reconstruction(images)
    faces()
    race.run()
    draw()
    return 0


if __name__ == "__main__":
    race.unhinder_openblas()
    sys.exit(main())
