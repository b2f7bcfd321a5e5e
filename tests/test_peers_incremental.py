"""scikit-learn's own tests of IncrementalPCA, run against ours. Where we differ on purpose the reason stands
here."""

import pytest

pytest.importorskip("sklearn", minversion="1.9")

from peers.run import assert_only_listed_differences, run_peer_tests

# Ids, or their beginnings: all tests under each must fail.
DIFFERENT = {
    "test_incremental_pca_validation": "the first batch may have fewer rows than components",
    "test_incremental_pca_set_params": "every row is kept, so the number of components may change on the way",
}

LEFT_OUT = {
    "test_incremental_pca_sparse": "sparse data are refused with a sentence",
}


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    return run_peer_tests(
        "sklearn.decomposition.tests.test_incremental_pca",
        ["IncrementalPCA"],
        list(LEFT_OUT),
        tmp_path_factory.mktemp("incremental"),
    )


def test_we_differ_only_where_we_say_so(peers):
    assert_only_listed_differences(peers, DIFFERENT, LEFT_OUT, at_least=15)
