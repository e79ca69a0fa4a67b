"""The pseudo-posterior, rows as landmarks, landmarks in feature units."""

import numpy as np
import pytest
import reference

from rffkern import RowBlocks
from rffkern._rows.scaling import no_scaling
from rffkern._training.posterior import pseudo_posterior
from rffkern._training.spectral import feature_units

SCALING = no_scaling(3)._replace(center=np.array([10.0, -1.0, 5.0]), inverse_scale=np.array([0.5, 4.0, 0.0]))


@pytest.mark.parametrize("temperature", [0.0, 1.0, 1e6, 1e300])
def test_pseudo_posterior(rng, temperature):
    losses = rng.standard_normal((3, 7))
    with np.errstate(all="raise"):  # as programs around may have it
        found = pseudo_posterior(-temperature * losses)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for k in range(3):
        np.testing.assert_allclose(found[k], reference.pseudo_posterior(losses[k], temperature))
    if temperature == 0:
        np.testing.assert_array_equal(found, 1 / 7)


def test_pseudo_posterior_by_hand():
    np.testing.assert_allclose(pseudo_posterior(np.log([1.0, 3.0])), [0.25, 0.75])
    np.testing.assert_allclose(pseudo_posterior(np.array([[1e300, -1e300]])), [[1.0, 0.0]])


def test_rows_of_arrays_and_blocks_are_scaled():
    X = np.array([[12.0, -1.0, 7.0], [10.0, 0.0, 5.0], [8.0, -2.0, 3.0]])
    indices = np.array([2, 0, 2])
    expected = [[-1.0, -4.0, 0.0], [1.0, 0.0, 0.0], [-1.0, -4.0, 0.0]]
    for source in (X, X.astype(np.float32), RowBlocks([X[:1], X[1:]])._check()):
        np.testing.assert_array_equal(SCALING.take(source, indices), expected)


def test_feature_units_undo_the_scaling():
    """A constant column keeps its value; what overflows is held finite."""
    np.testing.assert_array_equal(feature_units(np.array([[1.0, 2.0, 9.0]]), SCALING), [[12.0, -0.5, 5.0]])
    tiny = no_scaling(1)._replace(inverse_scale=np.array([1e-300]))
    assert feature_units(np.array([[1e10], [-1e10]]), tiny).tolist() == [[np.finfo(float).max], [np.finfo(float).min]]
