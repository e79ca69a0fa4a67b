"""The scorer in C against a NumPy twin and against `score` of expansions, and which arrays it takes as they are."""

import numpy as np
import pytest
from helpers.packing import DTYPES
from hypothesis import given
from hypothesis import strategies as st

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms
from rffkern._native import boosting, scoring
from rffkern.embedding import _arrays

PRECISIONS = pytest.mark.parametrize("dtype", DTYPES)
UNASKED = np.finfo(np.float64).max


def fourier(rng, n_features=4, n_terms=70, n_outputs=1, used=1.0):
    omegas = rng.standard_normal((n_terms, n_features)) * (rng.random((n_terms, n_features)) < used)
    terms = FourierTerms(omegas, rng.standard_normal(n_terms), rng.standard_normal((n_terms, n_outputs)))
    return Expansion(rng.standard_normal(n_outputs), rng.standard_normal(n_features), terms)


def terms(rng, n_features=4, n_tables=90, depth=4, n_outputs=1, digits=1, scale=1.0, bounded=True, **options):
    cosines = fourier(rng, n_features, n_outputs=n_outputs, **options)
    columns = rng.integers(n_features, size=(n_tables, depth))
    thresholds = rng.standard_normal((n_tables, depth)).round(digits)
    thresholds[rng.random(thresholds.shape) < 0.1] = UNASKED
    sizes = [np.prod([1 + ((row == j) & (asked < UNASKED)).sum() for j in range(n_features)], dtype=int)
             for row, asked in zip(columns, thresholds, strict=True)]
    bounds = {"lower": np.full(n_features, -1.5), "upper": np.full(n_features, 2.0)} if bounded else {}
    linear = LinearTerms(rng.standard_normal((n_features, n_outputs)))
    trees = TreeTerms(columns, thresholds, scale * rng.standard_normal((sum(sizes), n_outputs)))
    return Expansion(cosines.intercept, cosines.center, cosines.fourier, linear, trees, **bounds)


def kernels(rng, n_features=4, n_terms=150, n_outputs=1, exponent=2.0, n_regions=1, intercept=1.0):
    starts = np.sort(np.append(rng.integers(n_terms + 1, size=n_regions - 1), [0, n_terms]))
    return Expansion(np.full(n_outputs, intercept), np.zeros(n_features), KernelTerms(
        rng.standard_normal((n_terms, n_features)), rng.standard_normal((n_terms, n_outputs)),
        0.5 + rng.random(n_features), [exponent], rng.integers(n_features, size=n_regions - 1),
        rng.standard_normal(n_regions - 1), starts))


def sums(rng, n_outputs=1, **options):
    both = terms(rng, n_outputs=n_outputs), kernels(rng, n_outputs=n_outputs, intercept=0.0, **options)
    return Expansion(both[0].intercept, both[0].center, *both[0].parts, *both[1].parts, lower=both[0].lower,
                     upper=both[0].upper)


EXPANSIONS = {
    "cosines": fourier,
    "of some columns": lambda rng: fourier(rng, n_features=9, used=0.3),
    "three outputs": lambda rng: fourier(rng, n_outputs=3),
    "wide rows": lambda rng: fourier(rng, n_features=500),
    "terms": terms,
    "terms with three outputs": lambda rng: terms(rng, n_outputs=3),
    "without bounds": lambda rng: terms(rng, bounded=False),
    "deep tables": lambda rng: terms(rng, n_features=60, depth=boosting.MAX_SCORED_DEPTH, n_tables=70),
    "deep tables of two columns": lambda rng: terms(rng, n_features=2, depth=boosting.MAX_SCORED_DEPTH),
    "many tables": lambda rng: terms(rng, n_features=20, depth=9, n_tables=1500),
    "more thresholds than codes": lambda rng: terms(rng, n_features=1, depth=2, n_tables=400, digits=9),
    "large values": lambda rng: terms(rng, scale=1e60),
    "kernels": kernels,
    "exponential kernels": lambda rng: kernels(rng, exponent=1.0, n_outputs=3),
    "kernels in regions": lambda rng: kernels(rng, n_regions=8),
    "a sum": sums,
    "a sum with regions": lambda rng: sums(rng, n_outputs=2, n_regions=4),
    "an intercept": lambda rng: fourier(rng, n_terms=0),
}


def scorer_of(expansion, dtype=np.float32):
    return scoring.Scorer(*_arrays(expansion), dtype == np.float32)


def score(expansion, X, n_threads=1):
    out = np.full((len(X), expansion.n_outputs), np.nan)
    scorer_of(expansion, X.dtype).score(X, out, n_threads)
    return out


def rows(expansion, n_samples, dtype, seed=0):
    """Rows of which some lie on thresholds, and some are so far out that angles need double precision."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, expansion.n_features)).round(1)
    X[rng.random(n_samples) < 0.1] *= 1e4
    return X.astype(dtype)


def cosine_twin(expansion, X):
    terms = expansion.fourier
    return np.cos((X - expansion.center) @ terms.omegas.T - terms.phases) @ terms.amplitudes


def tree_twin(trees, X):
    """Values of the leaves of trees: a column that a tree asks k times is a digit from 0 to k."""
    total, start = np.zeros((len(X), trees.n_outputs)), 0
    for columns, thresholds in zip(trees.tree_columns.astype(int), trees.tree_thresholds, strict=True):
        leaf, size = np.zeros(len(X), int), 1
        for column in dict.fromkeys(columns[thresholds < UNASKED].tolist()):
            asked = thresholds[(columns == column) & (thresholds < UNASKED)]
            leaf += size * (X[:, column : column + 1] > asked).sum(axis=1)
            size *= len(asked) + 1
        total += trees.tree_values[start + leaf]
        start += size
    return total


def kernel_twin(kernels, X):
    total = np.zeros((len(X), kernels.n_outputs))
    for i, x in enumerate(X):
        node = 0
        while node < kernels.n_regions - 1:
            node = 2 * node + 1 + (x[int(kernels.region_columns[node])] > kernels.region_thresholds[node])
        here = slice(*kernels.region_starts[node - kernels.n_regions + 1 : node - kernels.n_regions + 3].astype(int))
        lengths = np.linalg.norm((x - kernels.centers[here]) * kernels.inverse_length_scales, axis=1)
        total[i] += np.exp(-lengths ** kernels.exponent / kernels.exponent) @ kernels.weights[here]
    return total


def twin(expansion, X):
    """Scores in double precision."""
    X = X.astype(np.float64)
    if expansion.lower is not None:
        X = X.clip(expansion.lower, expansion.upper)
    found = np.tile(expansion.intercept, (len(X), 1))
    if expansion.fourier is not None:
        found = found + cosine_twin(expansion, X)
    if expansion.linear is not None:
        found = found + (X - expansion.center) @ expansion.linear.coefficients
    if expansion.trees is not None:
        found = found + tree_twin(expansion.trees, X)
    return found if expansion.kernels is None else found + kernel_twin(expansion.kernels, X)


@PRECISIONS
@pytest.mark.parametrize("name", EXPANSIONS)
def test_twin(level, name, dtype, rng):
    """Of rows near the origin: angles of others are rounded as far as they are large."""
    expansion = EXPANSIONS[name](rng)
    X = rng.standard_normal((150, expansion.n_features)).round(2).astype(dtype)
    size = expansion._bound().max() if name == "large values" else 100 * (1 + expansion.n_features)
    atol = size * np.finfo(np.float32 if dtype == np.float32 or name == "large values" else dtype).eps
    for some in (X, X[:3], X[:1]):
        np.testing.assert_allclose(score(expansion, some), twin(expansion, some), rtol=1e-9, atol=atol)


@PRECISIONS
@pytest.mark.parametrize("name", EXPANSIONS)
def test_bits_are_those_of_the_expansion(level, name, dtype, rng):
    expansion = EXPANSIONS[name](rng)
    X = rows(expansion, 300, dtype)
    np.testing.assert_array_equal(score(expansion, X), expansion.score(X))


@PRECISIONS
@pytest.mark.parametrize("name", EXPANSIONS)
def test_bits_of_a_row_depend_neither_on_other_rows_nor_on_threads(level, name, dtype, rng):
    expansion = EXPANSIONS[name](rng)
    X = rows(expansion, 2100, dtype)
    together, scorer = score(expansion, X), scorer_of(expansion, dtype)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(score(expansion, X, n_threads), together)
    for n in (1, scoring.FEW - 1, scoring.FEW, 17, 129):
        np.testing.assert_array_equal(score(expansion, X[:n]), together[:n])
        taken = scorer.take(X[:n])
        assert (taken is None) == (n >= scoring.FEW)
        assert taken is None or taken.tobytes() == together[:n].tobytes()
    assert score(expansion, X[:0]).shape == (0, expansion.n_outputs)


@PRECISIONS
@pytest.mark.parametrize("name", EXPANSIONS)
def test_bits_of_rows_in_tiles(name, dtype, rng):
    expansion = EXPANSIONS[name](rng)
    X = rows(expansion, 2100, dtype)
    expected, scorer = score(expansion, X), scorer_of(expansion, dtype)
    for width in (16, 32, 64, 128):
        tiles = np.zeros((-(-len(X) // width), width, expansion.n_features), dtype)
        tiles.reshape(-1, expansion.n_features)[: len(X)] = X
        found = np.empty_like(expected)
        scorer.score(tiles.transpose(0, 2, 1).copy(), found, 2)
        np.testing.assert_array_equal(found, expected)


def test_which_rows_are_far_out(rng):
    """Those whose mean angle, by the amplitudes of terms, is above 4000."""
    expansion = fourier(rng)
    X = rows(expansion, 300, np.float32)
    shares = np.abs(expansion.amplitudes) / np.abs(expansion.amplitudes).sum()
    angles = np.abs(X - expansion.center) @ np.abs(expansion.omegas.T) + np.abs(expansion.phases)
    expected = (angles @ shares)[:, 0] > 4000
    assert 0 < expected.sum() < 100
    np.testing.assert_array_equal(np.frombuffer(scorer_of(expansion).find_far(X), bool), expected)
    assert scorer_of(expansion).fits_single == (True, True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, boosting.MAX_SCORED_DEPTH), st.integers(1, 12),
       st.integers(1, 3), st.integers(1, 7), st.sampled_from(DTYPES))
def test_tables(seed, n_tables, depth, n_features, n_outputs, digits, dtype):
    rng = np.random.default_rng(seed)
    expansion = terms(rng, n_features, n_tables, depth, n_outputs, digits, n_terms=0, bounded=False)
    X = rng.standard_normal((40, n_features)).round(1).astype(dtype)
    np.testing.assert_allclose(score(expansion, X), twin(expansion, X), rtol=0, atol=1e-12 * (1 + n_tables))


def unaligned(array):
    """A copy that is not aligned."""
    place = np.ndarray(array.shape, array.dtype, np.empty(array.nbytes + 1, np.uint8), offset=1)
    place[...] = array
    return place


@PRECISIONS
def test_what_is_taken(dtype, rng):
    expansion, X = terms(rng), rng.standard_normal((4, 4)).astype(dtype)
    scorer, fixed = scorer_of(expansion, dtype), X.copy()
    fixed.flags.writeable = False
    for good in (X, fixed, X[1:2], X[:, :]):
        assert scorer.take(good).tobytes() == score(expansion, good).tobytes()
    wrong = [X[:, :2].copy(), X[0], X[None], np.asfortranarray(X), X[::2], X[:, ::-1], unaligned(X),
             X.astype(X.dtype.newbyteorder()), X.view(np.int32 if dtype == np.float32 else np.int64), X[:0],
             X.astype(complex), X.astype(np.float16), X.astype(np.longdouble)]
    for value in wrong:
        assert scorer.take(value) is None
    for value in (np.nan, np.inf, -np.inf):
        beyond = X.copy()
        beyond[-1, -1] = value
        assert scorer.take(beyond) is None
    for value in (X.tolist(), None):
        with pytest.raises(TypeError):
            scorer.take(value)


def test_largest_numbers_that_are_taken(rng):
    scorer = scorer_of(terms(rng))
    assert scorer.take(np.full((1, 4), 2.0**1022)) is not None
    assert scorer.take(np.full((1, 4), np.nextafter(2.0**1022, np.inf))) is None
    assert scorer.take(np.full((1, 4), -np.finfo(np.float32).max, np.float32)) is not None


def test_rows_of_double_precision_alone(rng):
    scorer, X = scorer_of(terms(rng), np.float64), rng.standard_normal((4, 4)).astype(np.float32)
    assert scorer.take(X) is None
    with pytest.raises(ValueError, match="float64"):
        scorer.score(X, np.empty((4, 1)), 1)


@PRECISIONS
def test_arrays_that_do_not_agree_are_refused(dtype, rng):
    scorer, X, out = scorer_of(terms(rng)), np.zeros((9, 4), dtype), np.empty((9, 1))
    scorer.score(X, out, 1)
    for other_X, other_out, n_threads in [(X[:8], out, 1), (X[:, :3].copy(), out, 1), (X, np.empty((9, 2)), 1),
                                          (X, out, 0), (X[0], out, 1), (np.asfortranarray(X), out, 1),
                                          (X.astype(np.int32), out, 1)]:
        with pytest.raises(ValueError, match=r"must|not C-contiguous|mismatch"):
            scorer.score(other_X, other_out, n_threads)
