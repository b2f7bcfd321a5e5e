"""What a kernel PCA takes of the machine, in a process of its own."""

from processes import run


def test_half_a_square_matrix_is_all_it_takes():
    """scikit-learn/scikit-learn#9690, #19479: two whole ones, and a third for the centring."""
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
    assert fit < 45  # half of the matrix is 35 MiB
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
    # Half of 8 n^2 bytes, and half of the squares on the diagonal: bands of 192 rows, the last one of 128.
    n, bands, last = 2_000_000, 2_000_000 // 192, 2_000_000 % 192
    entries = 192 * sum(n - 192 * band for band in range(bands)) + last * last
    assert sentence.startswith(f"the kernel matrix needs {8 * entries} bytes (16001.5 GB)")
    assert int(extra) < 60
