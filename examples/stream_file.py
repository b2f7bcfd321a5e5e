"""PCA of a file on disk that is never loaded: rows are streamed in batches, with a progress bar.

    python examples/stream_file.py [FILE.npy]

Without a file it writes one first, piece by piece: every MNIST digit at each place within two pixels of its
own, 125,000 images, 392 MB. Prints how much memory each way took, and that both find the same axes.
"""

import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import data
import numpy as np
from prinax import PCA, IncrementalPCA

ROWS = 2000  # of a batch
K = 50
LOOK = 0.002  # seconds between two looks at the memory


class Batches:
    """The rows of a .npy file in C order, read batch by batch; knows how many there are, so the bar does."""

    def __init__(self, path: Path, rows: int = ROWS) -> None:
        self.path, self.rows = path, rows
        mapped = np.load(path, mmap_mode="r")
        self.shape, self.dtype, self.offset = mapped.shape, mapped.dtype, mapped.offset

    def __len__(self) -> int:
        return -(-self.shape[0] // self.rows)

    def __iter__(self) -> Iterator[np.ndarray]:
        n, d = self.shape
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            for start in range(0, n, self.rows):
                count = min(self.rows, n - start) * d
                yield np.fromfile(file, self.dtype, count).reshape(-1, d)


def write_shifted_digits(path: Path, reach: int = 2) -> None:
    """The digits of MNIST moved by every offset of up to `reach` pixels, one offset at a time."""
    images = data.mnist()[0].reshape(-1, 28, 28).astype(np.float32)
    offsets = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    shape = (len(offsets) * len(images), 784)
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for offset in offsets:
            np.roll(images, offset, axis=(1, 2)).tofile(file)


def resident() -> float:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def own_pages() -> float:
    """The process's own memory now, in MB: without the pages of mapped files, which the system may drop."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1000


def growth_of_own_pages(work: Callable[[], object]) -> float:
    """By how much the own memory rises above where it is now while `work` runs, in MB."""
    before, seen, done = own_pages(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(LOOK):
            seen.append(own_pages() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return max(seen)


def run(path: Path) -> tuple[IncrementalPCA, PCA]:
    """Fits the file both ways and prints what each took."""
    batches = Batches(path)
    n, d = batches.shape
    print(f"{path}: {n:,} x {d} of {batches.dtype}, {path.stat().st_size / 1e6:.0f} MB")
    start, before = time.perf_counter(), resident()
    streamed = IncrementalPCA(n_components=min(K, d)).fit(batches, progress=True)
    print(
        f"streamed in {len(batches)} batches of {ROWS}: {time.perf_counter() - start:.1f} s, "
        f"peak memory grew by {resident() - before:.0f} MB",
        flush=True,
    )
    mapped, model, start = np.load(path, mmap_mode="r"), PCA(n_components=min(K, d)), time.perf_counter()
    grown = growth_of_own_pages(lambda: model.fit(mapped))
    print(
        f"PCA.fit of the memory-mapped file: {time.perf_counter() - start:.1f} s, "
        f"own memory grew by {grown:.0f} MB"
    )
    difference = np.abs(streamed.singular_values_ - model.singular_values_).max() / model.singular_values_[0]
    print(f"largest difference of a singular value, of the first: {difference:.0e}")
    return streamed, model


def main() -> int:
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.npy"
        try:
            write_shifted_digits(path)
        except data.DataNotInstalledError as missing:
            print(missing, file=sys.stderr)
            return 1
        run(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
