"""Scores of raw tables are those of mapped rows, to the bit."""

import numpy as np
import pytest
from helpers.expansions import fourier_expansion, kernel_expansion

from rffkern import (
    ColumnMap,
    GBRFF2Classifier,
    InvalidInputError,
    PBRFFClassifier,
    RFFNetRegressor,
    SparseKernelClassifier,
)
from rffkern._estimator import columns
from rffkern._estimator.columns import score_table

MODELS = [GBRFF2Classifier(5, random_state=0), PBRFFClassifier(8, random_state=0),
          RFFNetRegressor(20, max_epochs=2, random_state=0), SparseKernelClassifier(1, basis_size=6, random_state=0)]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(columns, "_BLOCK_BYTES", 4096)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_families(rng, small_blocks, model, dtype):
    X = rng.standard_normal((600, 5)).astype(dtype)
    X[::50, 1] = np.nan
    model.set_params(columns=ColumnMap(("bounded", "rank"))).fit(X, X[:, 0] > 0)
    mapped = model.column_map_._transform(X, "the test")
    expected = model.expansion_.score(mapped)
    for n_rows in (1, 15, 16, 17, 130, 600):
        np.testing.assert_array_equal(model._raw_scores(X[:n_rows]), expected[:n_rows])
    np.testing.assert_array_equal(model._raw_scores(np.asfortranarray(X)), expected)


def random_expansions(rng, n_features, omega):
    yield fourier_expansion(omega * rng.standard_normal((37, n_features)), rng.uniform(-3, 3, 37),
                           rng.standard_normal((37, 2)), [0.1, 0.2], rng.standard_normal(n_features))
    yield kernel_expansion(rng.standard_normal((37, n_features)), rng.standard_normal((37, 2)), [0.1, 0.2],
                          np.full(n_features, omega))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("omega", [0.3, 2000.0])  # the second is scored in double precision, of some rows
@pytest.mark.parametrize("n_features", [1, 7, 40, 200])
def test_widths_and_precisions(rng, small_blocks, n_features, omega, dtype):
    X = rng.standard_normal((300, n_features)).astype(dtype)
    column_map = ColumnMap(("raw",)).fit(X)
    for expansion in random_expansions(rng, n_features, omega):
        np.testing.assert_array_equal(score_table(column_map, expansion, X, "the test", 1), expansion.score(X))


def test_threads_and_blocks_do_not_matter(rng, eight_cpus, monkeypatch):
    X = rng.standard_normal((20_000, 9))
    column_map = ColumnMap(("rank",)).fit(X[:500])
    expansion = next(random_expansions(rng, 9, 0.3))
    expected = score_table(column_map, expansion, X, "the test", 1)
    for n_bytes in (1 << 13, 1 << 17):
        monkeypatch.setattr(columns, "_BLOCK_BYTES", n_bytes)
        for n_threads in (1, 3):
            np.testing.assert_array_equal(score_table(column_map, expansion, X, "the test", n_threads), expected)


@pytest.mark.parametrize("place", [0, 299])
def test_infinite_values_are_named_in_any_block(rng, small_blocks, place):
    X = rng.standard_normal((300, 5))
    model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(X, X[:, 0] > 0)
    X[place, 3] = np.inf
    with pytest.raises(InvalidInputError, match="column 3 of X must be finite"):
        model.predict(X)
