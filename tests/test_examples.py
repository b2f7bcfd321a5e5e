"""The examples run as a user runs them, and their pictures and figures are there."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PICTURES = [
    "denoise_digit",
    "digit_components",
    "digit_rebuilt",
    "eigenfaces",
    "face_from_15_numbers",
    "hsic_columns",
    "hsic_pvalues",
    "manifolds",
    "panels_2d",
    "rings",
    "scree",
    "supervised_classes",
    "whitened_patches",
    "whitening_filters",
]
PNG = b"\x89PNG\r\n\x1a\n"

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("matplotlib", "mlxtend", "skimage", "ISLP"))),
    reason="the packages of requirements/demo.txt and requirements/data.txt are not installed",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What quickstart.py printed, and the folder of its pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    command = [sys.executable, str(EXAMPLES / "quickstart.py")]
    environment = {**os.environ, "PRINAX_PICTURES": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_every_picture_is_drawn(demo):
    _, folder = demo
    assert sorted(path.stem for path in folder.glob("*.png")) == PICTURES
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 5000


def test_shares_of_the_variance_are_those_of_a_full_svd(demo, examples):
    import data

    images = data.eights()
    captured = np.cumsum(np.linalg.svd(images - images.mean(axis=0), compute_uv=False) ** 2)
    for share in (90, 95, 99):
        expected = 1 + int(np.argmax(captured >= share / 100 * captured[-1]))
        assert re.search(rf"^ +{expected} components keep {share}%$", demo[0], flags=re.MULTILINE)


def test_reconstruction_error_is_the_sum_of_the_discarded_eigenvalues(demo, examples):
    import data

    images = data.eights()
    values = np.linalg.svd(images - images.mean(axis=0), compute_uv=False) ** 2 / len(images)
    rows = re.findall(r"^ +(1|10|100|500) +(\S+) +(\S+) +\S+$", demo[0], flags=re.MULTILINE)
    assert [int(kept) for kept, _, _ in rows] == [1, 10, 100, 500]
    for kept, error, discarded in rows:
        exact = values[int(kept) :].sum()
        np.testing.assert_allclose(
            [float(error), float(discarded)], exact, rtol=1e-5, atol=1e-12 * values.sum()
        )


def test_denoising_brings_the_images_closer(examples):
    import denoise_digit

    clean, noisy, denoised = denoise_digit.denoise()
    assert denoise_digit.root_mean_square(denoised - clean) < 0.6 * denoise_digit.root_mean_square(
        noisy - clean
    )


def test_a_missing_package_is_named_with_its_command(examples):
    import data

    with pytest.raises(
        data.DataNotInstalledError, match=r"python -m pip install --no-deps no-such-package-at-all"
    ):
        data.find("no-such-package-at-all", "file.csv")
    with pytest.raises(data.DataNotInstalledError, match=r"numpy .* does not carry nothing\.csv"):
        data.find("numpy", "nothing.csv")
