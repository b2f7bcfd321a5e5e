"""scikit-learn's own tests of PCA, run against ours. Where we differ on purpose the reason stands here."""

import pytest

pytest.importorskip("sklearn", minversion="1.9")

from peers.run import assert_only_listed_differences, run_peer_tests

# Ids, or their beginnings: all tests under each must fail.
DIFFERENT = {
    "test_pca_validation[arpack-0": "0 components are the isotropic model, in every solver",
    "test_pca_validation[randomized-0": "0 components are the isotropic model, in every solver",
    "test_pca_validation[arpack-2": "our Lanczos solver finds all min(n, d) components, the last one too",
    "test_pca_validation[auto-3": "our sentence names no solver: the limit is the same in all",
    "test_n_components_none[data0-arpack": "None is min(n, d) in every solver",
    "test_n_components_none[data1-arpack": "None is min(n, d) in every solver",
    "test_n_components_mle_error": "Minka's rule works with every solver",
    "test_pca_zero_noise_variance_edge_cases": "rows in a subspace have no density: score says so",
    "test_pca_score[": "the likelihood does not depend on whiten, which the test wants to lower it",
    "test_pca_svd_solver_auto": "the choice of a solver is our own, and read from solver_",
    "test_pca_n_components_mostly_explained_variance_ratio": "a share is reached at >=, not only beyond it",
}

LEFT_OUT = {
    "test_assess_dimension_bad_rank": "a private helper of scikit-learn",
    "test_assess_dimension_rank_one": "a private helper of scikit-learn",
    "test_small_eigenvalues_mle": "a private helper of scikit-learn",
    "test_pca_array_api_compliance": "array API dispatch",
    "test_pca_mle_array_api_compliance": "array API dispatch",
    "test_array_api_error_and_warnings_on_unsupported_params": "array API dispatch",
    "test_pca_sparse": "sparse data are refused with a sentence",
    "test_pca_sparse_fit_transform": "sparse data are refused with a sentence",
    "test_sparse_pca_solver_error": "sparse data are refused with a sentence of our own",
    "test_sparse_pca_auto_arpack_singular_values_consistency": "sparse data are refused with a sentence",
}


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    return run_peer_tests(
        "sklearn.decomposition.tests.test_pca", ["PCA"], list(LEFT_OUT), tmp_path_factory.mktemp("pca")
    )


def test_we_differ_only_where_we_say_so(peers):
    assert_only_listed_differences(peers, DIFFERENT, LEFT_OUT, at_least=100)
