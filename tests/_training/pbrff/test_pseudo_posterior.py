"""Kernels of landmarks, their pseudo-posterior and their features, apart from the estimators."""

import numpy as np
import pytest
import reference

from rffkern import PBRFFTransformer, RowBlocks
from rffkern._estimator.monitor import listening
from rffkern._native import scoring
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.training_rows import check_labelled
from rffkern._training.pbrff import pseudo_posterior
from rffkern._training.pbrff.pseudo_posterior import (
    LandmarkKernels,
    _half_turns,
    learn_kernels,
    svm_features,
)


def labelled(n_samples=300, weight=None, streamed=False):
    """Checked rows, their scaling, and the rows as they are."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, 4)) * [1, 3, 5, 0.1] + 2
    y = np.digitize(X[:, 0], [1.5, 2.5])
    training = check_labelled(RowBlocks([X[:100], X[100:]]) if streamed else X, y, weight)
    return training, measure_scaling(training.rows.X, training.rows.weights), X


def learn(training, **changed):
    """What `learn_kernels` returns for 6 landmarks of 5 cosines."""
    parameters = {"n_landmarks": 6, "n_components": 5, "gamma": 0.3, "beta": 2.0, "precision": "double", "n_jobs": 1}
    return learn_kernels(PBRFFTransformer(**parameters | changed), training, np.random.default_rng(7))


@pytest.mark.parametrize("n_terms", [1, 4, 6])
def test_half_turns_are_padded_beyond_the_last_landmark(n_terms):
    omegas, phases = np.random.default_rng(0).standard_normal((1, n_terms, 3)), np.full((1, n_terms), np.pi / 2)
    found, shifts = _half_turns(omegas, phases, np.dtype(np.float64))
    multiple = scoring.TERM_MULTIPLES[0]
    assert len(found) == len(shifts) >= n_terms + multiple
    assert len(found) % multiple == 0
    np.testing.assert_array_equal(found[:n_terms], omegas[0] / np.pi)
    assert shifts.tolist() == [0.5] * n_terms + [0.0] * (len(found) - n_terms)
    assert not found[n_terms:].any()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
def test_posterior_is_that_of_the_twin(streamed, weighted, landmarks):
    """A landmark's own term is subtracted where it is a row, one copy of it, and only there."""
    given = np.random.default_rng(0).uniform(0.5, 2, 300) if weighted else None
    training, scaling, X = labelled(weight=given, streamed=streamed)
    rows = training.rows
    kernels, attributes, *_ = learn(training, landmarks=landmarks)
    weight = np.ones(300) if given is None else given
    standardised = (X - scaling.center) * scaling.inverse_scale
    points = (attributes["landmarks_"] - scaling.center) * scaling.inverse_scale
    codes, own = np.repeat(np.arange(3), 2), np.zeros(6)
    if landmarks == "random":
        drawn = np.array([np.abs(standardised - point).max(axis=1).argmin() for point in points])
        codes, own = rows.codes[drawn], np.minimum(weight[drawn], 1)
    losses = reference.pbrff_losses(standardised, rows.codes, weight, own, points, codes, kernels.omegas)
    expected = np.stack([reference.pseudo_posterior(loss, 2.0 * np.sqrt(weight.sum())) for loss in losses])
    np.testing.assert_allclose(kernels.posterior, expected, atol=1e-9)


def test_a_representation_agrees_with_itself():
    """Kernels of standardised rows and terms of raw rows are the same functions."""
    training, _, X = labelled()
    kernels, *_, scaling, tiles = learn(training)
    features = svm_features(kernels, tiles, 300, 1)
    terms = kernels.expansion(scaling, np.ones((6, 1)), np.zeros(1)).fourier
    angles = (X - scaling.center) @ terms.omegas.T - terms.phases
    expected = (np.cos(angles).reshape(300, 6, 5) * kernels.posterior).sum(axis=2)
    np.testing.assert_allclose(features[:, :6], expected, atol=1e-9)
    assert features.shape == (300, scoring.LANE_COUNT)
    assert (features[:, 6] == 1).all()
    assert not features[:, 7:].any()


@pytest.mark.parametrize(("precision", "gamma", "dtype"), [
    ("single", 0.3, np.float32), ("single", 1e6, np.float64), ("double", 0.3, np.float64)])
def test_precision_of_the_packed_rows(precision, gamma, dtype):
    *_, tiles = learn(labelled()[0], precision=precision, gamma=gamma)
    assert tiles.dtype == dtype


def test_features_leave_further_columns_alone():
    kernels, *_, tiles = learn(labelled()[0])
    two = LandmarkKernels(*(array[:2] for array in kernels)).features(tiles, 300, 2, 1)
    np.testing.assert_array_equal(two, kernels.features(tiles, 300, 6, 1)[:, :2])


def test_long_work_reports_progress(monkeypatch):
    """In parts that change no bit."""
    training, *_ = labelled()

    def features():
        kernels, *_, tiles = learn(training, n_landmarks=7, n_components=6)
        return svm_features(kernels, tiles, 300, 1)

    reported = []
    with listening(lambda *step: reported.append(step)):
        whole = features()
        assert reported == []
        # A tile of features, 2 landmarks of a posterior.
        monkeypatch.setattr(pseudo_posterior, "_REPORTED_WORK", 7 * 6 * 4)
        parts = features()
    assert np.array_equal(whole, parts)
    assert {work for work, _, _, _ in reported} == {"posterior", "features"}
    for work in ("posterior", "features"):
        steps = [(done, total) for name, done, total, _ in reported if name == work]
        assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
        assert len(steps) > 1
