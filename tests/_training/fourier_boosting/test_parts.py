"""Some of the terms of a function, and what they read."""

import numpy as np
from helpers.boosted_terms import expansion

from rffkern._training.fourier_boosting.inspection import columns_read, some_terms


def test_parts_add_up():
    whole, X = expansion(2), np.random.default_rng(1).standard_normal((50, 4))
    parts = [some_terms(whole, np.array(chosen, dtype=np.intp)) for chosen in ([0, 3], [], [2, 1])]
    assert [part.n_terms for part in parts] == [2, 0, 2]
    np.testing.assert_allclose(whole.intercept + sum(part.score(X) for part in parts), whole.score(X), atol=1e-14)


def test_columns_that_terms_read():
    reads = columns_read(expansion(), np.arange(4), 5)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[0], [0, 2], [1], [2, 3]]


def test_mapped_columns_count_as_their_source():
    reads = columns_read(expansion(), np.array([1, 1, 1, 0]), 2)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[1], [1], [1], [0, 1]]
