"""scikit-learn's own tests of KernelPCA, run against ours. Where we differ the reason stands here."""

import pytest

pytest.importorskip("sklearn", minversion="1.9")

from peers.run import assert_only_listed_differences, run_peer_tests

# Ids, or their beginnings: all tests under each must fail.
DIFFERENT = {
    "test_kernel_pca_precomputed_non_symmetric": "a matrix that is not symmetric is refused by name",
    "test_precomputed_kernel_not_psd[randomized": "the largest eigenvalues are found, not the largest moduli",
}

LEFT_OUT = {
    "test_kernel_pca_sparse": "sparse data are refused with a sentence",
}


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    return run_peer_tests(
        "sklearn.decomposition.tests.test_kernel_pca",
        ["KernelPCA", "PCA"],
        list(LEFT_OUT),
        tmp_path_factory.mktemp("kernel_pca"),
    )


def test_we_differ_only_where_we_say_so(peers):
    assert_only_listed_differences(peers, DIFFERENT, LEFT_OUT, at_least=20)
