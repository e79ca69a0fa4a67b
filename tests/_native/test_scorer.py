"""The scorer in C against a NumPy twin, and which arrays it takes as they are."""

import numpy as np
import pytest
from helpers.packing import DTYPES
from hypothesis import given
from hypothesis import strategies as st
from reference import leaves_of, n_leaves

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms
from rffkern._model.parts import MAX_DEPTH
from rffkern._model.tree_layout import UNREACHED
from rffkern._native import scoring

PRECISIONS = pytest.mark.parametrize("dtype", DTYPES)


def fourier(rng, n_features=4, n_terms=70, n_outputs=1, used=1.0):
    return Expansion(rng.standard_normal(n_outputs), rng.standard_normal(n_features),
                     fourier_terms(rng, n_features, n_terms, n_outputs, used))


def fourier_terms(rng, n_features, n_terms=70, n_outputs=1, used=1.0):
    omegas = rng.standard_normal((n_terms, n_features)) * (rng.random((n_terms, n_features)) < used)
    return FourierTerms(omegas, rng.standard_normal(n_terms), rng.standard_normal((n_terms, n_outputs)))


def trees(rng, n_features=4, n_trees=90, depth=4, n_outputs=1, digits=1, scale=1.0):
    columns = rng.integers(n_features, size=(n_trees, depth))
    thresholds = rng.standard_normal((n_trees, depth)).round(digits)
    thresholds[rng.random(thresholds.shape) < 0.1] = UNREACHED
    return TreeTerms(columns, thresholds, scale * rng.standard_normal((sum(n_leaves(columns, thresholds)), n_outputs)))


def kernels(rng, n_features=4, n_terms=150, n_outputs=1, exponent=2.0, n_regions=1):
    starts = np.sort(np.append(rng.integers(n_terms + 1, size=n_regions - 1), [0, n_terms]))
    return KernelTerms(
        rng.standard_normal((n_terms, n_features)), rng.standard_normal((n_terms, n_outputs)),
        0.5 + rng.random(n_features), [exponent], rng.integers(n_features, size=n_regions - 1),
        rng.standard_normal(n_regions - 1), starts)


def terms(rng, n_features=4, n_outputs=1, bounded=True, **options):
    linear = LinearTerms(rng.standard_normal((n_features, n_outputs)))
    return of(rng, fourier_terms(rng, n_features, n_outputs=n_outputs), linear,
              trees(rng, n_features, n_outputs=n_outputs, **options), bounded=bounded)


def of(rng, *parts, bounded=False, n_features=4):
    """An expansion of some parts."""
    n_features = next((part.omegas.shape[1] for part in parts if part.kind == "fourier"), n_features)
    bounds = {"lower": np.full(n_features, -1.5), "upper": np.full(n_features, 2.0)} if bounded else {}
    return Expansion(rng.standard_normal(parts[0].n_outputs), rng.standard_normal(n_features), *parts, **bounds)


def sums(rng, n_outputs=1, **options):
    return of(rng, *terms(rng, n_outputs=n_outputs).parts, kernels(rng, n_outputs=n_outputs, **options), bounded=True)


EXPANSIONS = {
    "cosines": fourier,
    "of some columns": lambda rng: fourier(rng, n_features=9, used=0.3),
    "three outputs": lambda rng: fourier(rng, n_outputs=3),
    "wide rows": lambda rng: fourier(rng, n_features=500),
    "terms": terms,
    "terms with three outputs": lambda rng: terms(rng, n_outputs=3),
    "without bounds": lambda rng: terms(rng, bounded=False),
    "deep trees": lambda rng: terms(rng, n_features=60, depth=MAX_DEPTH, n_trees=70),
    "deep trees of two columns": lambda rng: terms(rng, n_features=2, depth=MAX_DEPTH),
    "many trees": lambda rng: terms(rng, n_features=20, depth=9, n_trees=1500),
    "more thresholds than codes": lambda rng: terms(rng, n_features=1, depth=2, n_trees=400, digits=9),
    "large values": lambda rng: terms(rng, scale=1e60),
    "linear terms": lambda rng: of(rng, LinearTerms(rng.standard_normal((4, 2)))),
    "trees": lambda rng: of(rng, trees(rng)),
    "trees and linear terms": lambda rng: of(rng, LinearTerms(rng.standard_normal((4, 1))), trees(rng), bounded=True),
    "kernels": lambda rng: of(rng, kernels(rng)),
    "kernels within bounds": lambda rng: of(rng, kernels(rng), bounded=True),
    "kernels and trees": lambda rng: of(rng, trees(rng), kernels(rng)),
    "exponential kernels": lambda rng: of(rng, kernels(rng, exponent=1.0, n_outputs=3)),
    "kernels in regions": lambda rng: of(rng, kernels(rng, n_regions=8)),
    "a sum": sums,
    "a sum with regions": lambda rng: sums(rng, n_outputs=2, n_regions=4),
    "no terms": lambda rng: fourier(rng, n_terms=0),
    "no parts": lambda rng: Expansion([1.0, 2.0], np.zeros(4)),
}


def scorer_of(expansion, dtype=np.float32):
    return scoring.Scorer(expansion.arrays(), dtype == np.float32)


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


def tree_twin(part, X):
    total = np.zeros((len(X), part.n_outputs))
    for t in range(part.n_terms):
        leaves = leaves_of(part.tree_columns[t].astype(int), part.tree_thresholds[t], X)
        total += part.tree_values[part.starts[t] + leaves]
    return total


def kernel_twin(part, X):
    total = np.zeros((len(X), part.n_outputs))
    for i, x in enumerate(X):
        node = 0
        while node < part.n_regions - 1:
            node = 2 * node + 1 + (x[int(part.region_columns[node])] > part.region_thresholds[node])
        first = node - part.n_regions + 1
        here = slice(*part.region_starts[first : first + 2].astype(int))
        lengths = np.linalg.norm((x - part.centers[here]) * part.inverse_length_scales, axis=1)
        total[i] = np.exp(-lengths ** part.exponent / part.exponent) @ part.weights[here]
    return total


def twin(expansion, X):
    """Scores in double precision."""
    X = X.astype(np.float64)
    if expansion.lower is not None:
        X = X.clip(expansion.lower, expansion.upper)
    total = np.tile(expansion.intercept, (len(X), 1))
    if expansion.fourier:
        angles = (X - expansion.center) @ expansion.fourier.omegas.T - expansion.fourier.phases
        total += np.cos(angles) @ expansion.fourier.amplitudes
    if expansion.linear:
        total += (X - expansion.center) @ expansion.linear.coefficients
    if expansion.trees:
        total += tree_twin(expansion.trees, X)
    return total + kernel_twin(expansion.kernels, X) if expansion.kernels else total


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
    part = expansion.fourier
    shares = np.abs(part.amplitudes) / np.abs(part.amplitudes).sum()
    angles = np.abs(X - expansion.center) @ np.abs(part.omegas.T) + np.abs(part.phases)
    expected = (angles @ shares)[:, 0] > 4000
    assert 0 < expected.sum() < 100
    np.testing.assert_array_equal(np.frombuffer(scorer_of(expansion).find_far(X), bool), expected)
    assert scorer_of(expansion).fits_single == (True, True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, MAX_DEPTH), st.integers(1, 12),
       st.integers(1, 3), st.integers(1, 7), st.sampled_from(DTYPES))
def test_trees(seed, n_trees, depth, n_features, n_outputs, digits, dtype):
    rng = np.random.default_rng(seed)
    expansion = of(rng, trees(rng, n_features, n_trees, depth, n_outputs, digits), n_features=n_features)
    X = rng.standard_normal((40, n_features)).round(1).astype(dtype)
    np.testing.assert_allclose(score(expansion, X), twin(expansion, X), rtol=0, atol=1e-12 * (1 + n_trees))


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
