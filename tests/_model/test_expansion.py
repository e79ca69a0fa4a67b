"""Frozen states: what they compute, what they refuse, and that nothing changes them."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.expansions import fourier_expansion, kernel_expansion

from rffkern import Expansion, InvalidInputError, KernelTerms


def cosines(rng, n_terms=37, n_features=4, n_outputs=2, scale=1.0):
    return fourier_expansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-np.pi, np.pi, n_terms),
                            scale * rng.standard_normal((n_terms, n_outputs)), rng.standard_normal(n_outputs),
                            rng.standard_normal(n_features))


def bumps(rng, n_terms=37, n_features=4, n_outputs=2, scale=1.0):
    weights = scale * rng.standard_normal((n_terms, n_outputs))
    return kernel_expansion(rng.standard_normal((n_terms, n_features)), weights, rng.standard_normal(n_outputs),
                           rng.uniform(0, 1, n_features))


def bumps_in_regions(rng, n_terms=37, n_features=4, n_outputs=2, scale=1.0):
    """Four regions: the second and third divided at other columns, the last with two centers at most."""
    whole = bumps(rng, n_terms, n_features, n_outputs, scale)
    starts = np.sort([0, n_terms // 3, n_terms // 2, max(n_terms - 2, 0), n_terms])
    return Expansion(whole.intercept, whole.center, KernelTerms(
        *list(whole.kernels.arrays().values())[:4], [0, 1, n_features - 1], [0.1, -0.2, 0.3], starts))


def value_at(expansion, X):
    """The formula of the docstrings, term by term."""
    fourier, part = expansion.fourier, expansion.kernels
    if fourier is not None:
        terms = np.cos((X - expansion.center) @ fourier.omegas.T - fourier.phases)
        return expansion.intercept + terms @ fourier.amplitudes
    difference = (X[:, None, :] - part.centers) * part.inverse_length_scales
    kernels = np.exp(-0.5 * (difference**2).sum(axis=2))
    if part.n_regions > 1:
        columns, thresholds = part.region_columns.astype(int), part.region_thresholds
        is_right = X[:, columns[0]] > thresholds[0]
        region = np.where(is_right, 2 + (X[:, columns[2]] > thresholds[2]), X[:, columns[1]] > thresholds[1])
        own = np.searchsorted(part.region_starts, np.arange(expansion.n_terms), side="right") - 1
        kernels *= region[:, None] == own
    return expansion.intercept + kernels @ part.weights


FORMS = pytest.mark.parametrize("make", [cosines, bumps, bumps_in_regions])


@FORMS
@pytest.mark.parametrize("n_terms", [0, 1, 16, 129])
@pytest.mark.parametrize("n_samples", [1, 7, 8, 300])
def test_values(make, n_terms, n_samples, rng):
    expansion, X = make(rng, n_terms), rng.standard_normal((n_samples, 4))
    found = expansion.score(X)
    assert found.shape == (n_samples, 2)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, value_at(expansion, X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(expansion.score(X.astype(np.float32)), value_at(expansion, X), atol=2e-4 * (1 + n_terms))


@FORMS
def test_the_number_of_threads_changes_no_bit(make, rng):
    expansion, X = make(rng, 200), rng.standard_normal((20_000, 4))
    one = expansion.score(X, n_jobs=1)
    for n_threads in (2, 3, None):
        np.testing.assert_array_equal(expansion.score(X, n_jobs=n_threads), one)


@FORMS
def test_many_threads_prepare_an_expansion_at_once(make, rng):
    """The packed forms are made in the first call, here in eight at the same time."""
    X = [rng.standard_normal((n, 4)).astype(dtype) for n in (1, 50) for dtype in (np.float32, np.float64)]
    for _ in range(20):
        expansion = make(rng)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i: expansion.score(X[i % 4]), range(32)))  # noqa: B023
        for i, scores in enumerate(found):
            np.testing.assert_array_equal(scores, expansion.score(X[i % 4]))


@FORMS
def test_float32_rows_are_scored_in_double_where_single_does_not_suffice(make, rng):
    expansion, X = make(rng, scale=1e31), rng.standard_normal((20, 4)).astype(np.float32)
    assert not all(expansion._scorer.fits)
    assert all(make(rng)._scorer.fits)
    np.testing.assert_allclose(expansion.score(X), value_at(expansion, X.astype(np.float64)), rtol=1e-9, atol=1e20)


def test_weights_that_cancel_need_double():
    """Two centers next to each other, with weights that are large and opposite."""
    near = kernel_expansion([[0.0], [1e-4]], [[1e8], [-1e8]], [0.0], [1.0])
    assert not all(near._scorer.fits)
    X = np.linspace(-2, 2, 50, dtype=np.float32)[:, None]
    np.testing.assert_allclose(near.score(X), value_at(near, X.astype(np.float64)), rtol=1e-6, atol=1e-4)


@FORMS
def test_nothing_changes_an_expansion(make, rng):
    expansion = make(rng)
    for name, array in expansion.arrays().items():
        owner = expansion if name in ("intercept", "center") else expansion.parts[0]
        with pytest.raises(AttributeError, match=f"is immutable: {name} cannot be set"):
            setattr(owner, name, array)
        with pytest.raises(AttributeError, match=f"is immutable: {name} cannot be deleted"):
            delattr(owner, name)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError, match="immutable"):
        expansion.other = 1


def test_arrays_are_copied():
    amplitudes = np.ones((1, 1))
    expansion = fourier_expansion([[1.0]], [0.0], amplitudes, [0.0], [0.0])
    amplitudes[:] = 5
    assert expansion.score([[0.0]]) == 1


@FORMS
def test_copies(make, rng):
    expansion, X = make(rng), rng.standard_normal((20, 4))
    for copied in (copy.copy(expansion), copy.deepcopy(expansion), pickle.loads(pickle.dumps(expansion))):
        assert type(copied) is type(expansion)
        np.testing.assert_array_equal(copied.score(X), expansion.score(X))


@FORMS
def test_sizes(make, rng):
    expansion = make(rng, 5, 3, 2)
    assert (expansion.n_terms, expansion.n_features, expansion.n_outputs) == (5, 3, 2)
    kind = expansion.parts[0].kind
    assert repr(expansion) == f"Expansion({kind}=5, n_features=3, n_outputs=2)"
    assert tuple(expansion.arrays()) == ("intercept", "center", *expansion.parts[0].array_names)


@FORMS
def test_rows_that_are_refused(make, rng):
    expansion = make(rng)
    with pytest.raises(InvalidInputError, match=r"^X must have 4 features, got 3$"):
        expansion.score(np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="got NaN at row 1, column 2"):
        expansion.score([[0.0] * 4, [0.0, 0.0, np.nan, 0.0]])
    with pytest.raises(InvalidInputError, match="n_jobs must be an integer"):
        expansion.score(np.zeros((2, 4)), n_jobs=0)


@FORMS
def test_arrays_that_are_refused(make, rng):
    good = make(rng).arrays()
    for name, array in good.items():
        if not array.size:  # of a tree of one region
            continue
        with pytest.raises(InvalidInputError, match=f"^{name} must be a finite {array.ndim}-D array, got shape"):
            Expansion._of_arrays(good | {name: array[None]})
        spoiled = array.copy()
        spoiled.flat[0] = np.nan
        with pytest.raises(InvalidInputError, match=f"^{name} must be a finite .* with nan or inf$"):
            Expansion._of_arrays(good | {name: spoiled})
        with pytest.raises(InvalidInputError, match=f"^{name} must be a finite {array.ndim}-D array: "):
            Expansion._of_arrays(good | {name: "words"})
        with pytest.raises(InvalidInputError, match="must"):
            Expansion._of_arrays(good | {name: array[:-1]})


@pytest.mark.parametrize("changed", [
    {"region_starts": [0, 10, 20, 37]}, {"region_starts": [0, 10, 20, 30, 36]}, {"region_starts": [1, 10, 20, 30, 37]},
    {"region_starts": [0, 20, 10, 30, 37]}, {"region_starts": [0, 10.5, 20, 30, 37]}, {"region_columns": [0, 1, 4]},
    {"region_columns": [0, -1, 2]}, {"region_columns": [0, 0.5, 2]}, {"region_columns": [0, 1]},
    {"region_thresholds": [0, np.inf, 0]}, {"region_thresholds": [[0, 1, 2]]}, {"region_starts": [0]},
    {"region_starts": []}, {"region_starts": [0, 37]}])
def test_regions_that_are_refused(changed, rng):
    arrays = bumps_in_regions(rng).arrays()
    with pytest.raises(InvalidInputError, match=r"region_columns, region_th|shapes must agree|must be a finite"):
        Expansion._of_arrays(arrays | changed)


def test_centers_that_are_no_table():
    for centers in (np.array(1.0), 1.0, None, [1.0]):
        with pytest.raises(InvalidInputError, match="centers must be a finite 2-D array"):
            kernel_expansion(centers, [[1.0]], [0.0], [1.0])


def test_a_region_may_have_no_centers(rng):
    arrays = bumps(rng).arrays()
    found = Expansion._of_arrays(
        arrays | {"region_columns": [0], "region_thresholds": [0.0], "region_starts": [0, 0, 37]})
    X = rng.standard_normal((50, 4))
    left = X[:, 0] <= 0
    np.testing.assert_array_equal(found.score(X[left]), np.tile(found.intercept, (left.sum(), 1)))
    np.testing.assert_allclose(found.score(X[~left]), Expansion._of_arrays(arrays).score(X[~left]), rtol=1e-12)
    assert all(found._scorer.fits)
