"""What a kernel PCA takes of the machine, in a process of its own."""

from processes import run


def test_one_square_matrix_is_all_it_takes():
    """scikit-learn/scikit-learn#9690, #19479: two of them, and a third for the centring."""
    script = """
    from prinax import KernelPCA
    X = np.random.default_rng(0).standard_normal((3000, 5))
    KernelPCA(2, kernel="rbf").fit(X[:400]).transform(X[:400])
    at_rest = peak()
    model = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    fit = peak() - at_rest
    model.transform(np.tile(X, (6, 1)))
    new_rows = peak() - at_rest
    KernelPCA(2).fit(np.tile(X, (5, 1)))
    print(int(fit), int(new_rows), int(peak() - at_rest))
    """
    fit, new_rows, linear = map(int, run(script).split())
    assert fit < 90  # the matrix is 69 MiB
    assert new_rows < 120  # in blocks of 32 MiB; all at once 412 MiB
    assert linear == new_rows  # no matrix at all, which would be 1.7 GiB


def test_what_does_not_fit_is_refused_before_it_is_taken():
    script = """
    from prinax import KernelPCA
    X = np.zeros((2_000_000, 1))
    at_rest = peak()
    try:
        KernelPCA(2, kernel="rbf").fit(X)
    except MemoryError as error:
        print(error, int(peak() - at_rest), sep="; ")
    """
    sentence, extra = run(script).split("; ")
    assert sentence.startswith("the kernel matrix needs 32000000000000 bytes (32000.0 GB)")
    assert int(extra) < 60
