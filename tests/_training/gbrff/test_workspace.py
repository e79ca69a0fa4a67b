"""Scratch memory of boosting: its sizes, and that its contents do not matter."""

import numpy as np
import pytest
from helpers.boosted import DTYPES, PackedProblem, waves

from rffkern import GBRFF1Classifier, GBRFF2Classifier, GBRFFRegressor
from rffkern._training.gbrff import recipes
from rffkern._training.gbrff.workspace import EvaluationWorkspace, LandmarkWorkspace, Sizes, TrainingWorkspace


@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes(dtype):
    rows = PackedProblem(0, 5000, 7, dtype, False).rows
    evaluation = EvaluationWorkspace(rows, Sizes(9, 3))
    assert evaluation.h.shape == (40, 128)
    assert evaluation.partial.shape == (3, 8)
    assert evaluation.terms.size >= 9 * (7 + 2)
    training = TrainingWorkspace(rows, Sizes(9, 3, 17, 2))
    assert training.cosine.shape == training.sine.shape == (17, 128)
    assert training.partial.shape == (3, 64)
    assert training.lanes.shape == (2, 7 * 16)
    assert not training.lanes.any()
    landmark = LandmarkWorkspace(rows, Sizes(9, 3, 17, 2))
    assert landmark.waves.shape == (17, 18, 128)
    assert landmark.wave_partial.shape == (2, 19)
    assert landmark.phases.shape == (16,)
    assert landmark.padded_omegas.shape == (12, 7)
    assert not landmark.wave_lanes.any()
    assert {array.dtype for array in (evaluation.h, training.cosine, training.lanes, landmark.waves)} == {
        np.dtype(dtype)}


def test_columns_beyond_sixty_four_widen_the_sums():
    rows = PackedProblem(0, 100, 90, np.float32, False).rows
    assert TrainingWorkspace(rows, Sizes(1, 1, 1, 1)).partial.shape == (1, 96)


@pytest.mark.parametrize(("make", "params"), [
    (GBRFF2Classifier, {}), (GBRFF1Classifier, {"n_components": 1}), (GBRFF1Classifier, {"step": "exact"}),
    (GBRFFRegressor, {"n_components": 3}), (GBRFFRegressor, {"n_components": 1}),
])
def test_what_a_workspace_holds_beforehand_does_not_matter(monkeypatch, rng, make, params):
    """All scratch but the lanes, which are 0 and left 0, starts as nan."""
    X, y = waves(rng, 300)
    expected = make(3, random_state=0, **params).fit(X, y, eval_set=(X, y))
    for name in ("TrainingWorkspace", "LandmarkWorkspace"):
        monkeypatch.setattr(recipes, name, spoiled(getattr(recipes, name)))
    found = make(3, random_state=0, **params).fit(X, y, eval_set=(X, y))
    np.testing.assert_array_equal(found.expansion_.fourier.amplitudes, expected.expansion_.fourier.amplitudes)
    np.testing.assert_array_equal(found.train_loss_, expected.train_loss_)


def spoiled(workspace):
    def make(rows, sizes):
        made = workspace(rows, sizes)
        for name, array in vars(made).items():
            if isinstance(array, np.ndarray) and "lanes" not in name and name != "phases":
                array[...] = np.nan
        return made

    return make
